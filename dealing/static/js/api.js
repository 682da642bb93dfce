"use strict";

// The page on which the API is looked through and tried: Swagger UI over the description of the API, asked with the
// session of the page.
const at = document.getElementById("swagger-ui");
SwaggerUIBundle({
  url: at.dataset.schema,
  domNode: at,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  requestInterceptor(request) {
    if (!["GET", "HEAD", undefined].includes(request.method)) {
      request.headers["X-CSRFToken"] = at.dataset.token;
    }
    return request;
  },
});
