// Passkeys: asks the browser for what the server wants to know, and sends the answer with an ordinary form.
// <form data-passkey="create|get" data-options="{…}">; with data-ask="address" the question is fetched when pressed.
(function () {
  "use strict";

  const forms = document.querySelectorAll("form[data-passkey]");

  function bytes(text) {
    const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(plain, (character) => character.charCodeAt(0));
  }

  function text(buffer) {
    const plain = String.fromCharCode(...new Uint8Array(buffer));
    return btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  function known(list) {
    return (list || []).map((one) => ({ ...one, id: bytes(one.id) }));
  }

  async function create(options) {
    const made = await navigator.credentials.create({
      publicKey: {
        ...options,
        challenge: bytes(options.challenge),
        user: { ...options.user, id: bytes(options.user.id) },
        excludeCredentials: known(options.excludeCredentials),
      },
    });
    return {
      clientDataJSON: text(made.response.clientDataJSON),
      attestationObject: text(made.response.attestationObject),
      of: made,
    };
  }

  async function get(options) {
    const used = await navigator.credentials.get({
      publicKey: {
        ...options,
        challenge: bytes(options.challenge),
        allowCredentials: known(options.allowCredentials),
      },
    });
    return {
      clientDataJSON: text(used.response.clientDataJSON),
      authenticatorData: text(used.response.authenticatorData),
      signature: text(used.response.signature),
      userHandle: used.response.userHandle ? text(used.response.userHandle) : null,
      of: used,
    };
  }

  async function question(form) {
    if (!form.dataset.ask) return JSON.parse(form.dataset.options);
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const answer = await fetch(form.dataset.ask, { method: "POST", headers: { "X-CSRFToken": token } });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error);
    return told;
  }

  async function press(form) {
    const said = form.querySelector("[data-passkey-said]");
    said.hidden = true;
    let response;
    try {
      const options = await question(form);
      response = await (form.dataset.passkey === "create" ? create(options) : get(options));
    } catch (error) {
      said.hidden = false;
      // What the browser says itself is in no language of ours; a reason of the server is for people.
      said.querySelector("p").textContent = error.constructor === Error && error.message ? error.message : said.dataset.words;
      return;
    }
    const { of: credential, ...rest } = response;
    form.elements.credential.value = JSON.stringify({
      id: credential.id,
      rawId: text(credential.rawId),
      type: credential.type,
      response: rest,
      clientExtensionResults: {},
      authenticatorAttachment: credential.authenticatorAttachment || null,
    });
    form.submit();
  }

  forms.forEach(function (form) {
    const button = form.querySelector("button");
    if (!window.PublicKeyCredential || !window.isSecureContext) {
      const none = form.querySelector("[data-passkey-none]");
      if (none) none.hidden = false;
      button.disabled = true;
      return;
    }
    form.hidden = false;
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      event.stopImmediatePropagation();
      button.disabled = true;
      press(form).finally(() => { button.disabled = false; });
    }, true);
  });
})();
