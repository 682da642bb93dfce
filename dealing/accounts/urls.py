"""`/account/`: everybody's own account; and the accounts of a house, for who may unlock them."""

from django.urls import path

from dealing.accounts import views

app_name = "account"

urlpatterns = [
    path("", views.account, name="account"),
    path("password/", views.password, name="password"),
    path("factor/", views.give_factor, name="factor"),
    path("set-up/", views.set_up, name="set_up"),
    path("app/", views.app, name="app"),
    path("app/remove/", views.remove_app, name="remove_app"),
    path("codes/", views.codes, name="codes"),
    path("passkeys/new/", views.new_passkey, name="new_passkey"),
    path("passkeys/<int:pk>/remove/", views.remove_passkey, name="remove_passkey"),
    path("passkey/ask/", views.ask_passkey, name="ask_passkey"),
    path("passkey/", views.log_in_by_passkey, name="log_in_by_passkey"),
    path("confirm/", views.confirm, name="confirm"),
    path("sessions/end/", views.end_sessions, name="end_sessions"),
    path("people/", views.people, name="people"),
    path("people/<int:pk>/unlock/", views.unlock, name="unlock"),
    path("people/<int:pk>/reset/", views.reset, name="reset"),
]
