"""What a password must be: Django's own rules, said in the languages of this site."""

from __future__ import annotations

from django.contrib.auth import password_validation as django_rules
from django.utils.translation import gettext as _


class NotLikeThePerson(django_rules.UserAttributeSimilarityValidator):
    """Not the name of the person, or nearly so."""

    def get_error_message(self) -> str:
        """What is wrong."""
        return _("This password is too much like your name or address.")

    def get_help_text(self) -> str:
        """What is asked for."""
        return _("Not like your name or address.")


class LongEnough(django_rules.MinimumLengthValidator):
    """Not too short."""

    def get_error_message(self) -> str:
        """What is wrong."""
        return _("This password is too short: it needs %(n)s characters.") % {"n": self.min_length}

    def get_help_text(self) -> str:
        """What is asked for."""
        return _("At least %(n)s characters; several words are good.") % {"n": self.min_length}


class NotCommon(django_rules.CommonPasswordValidator):
    """None that everybody tries first."""

    def get_error_message(self) -> str:
        """What is wrong."""
        return _("This password is one of those that are tried first.")

    def get_help_text(self) -> str:
        """What is asked for."""
        return _("None that many people use.")


class NotDigitsAlone(django_rules.NumericPasswordValidator):
    """Not digits alone."""

    def get_error_message(self) -> str:
        """What is wrong."""
        return _("This password is all digits.")

    def get_help_text(self) -> str:
        """What is asked for."""
        return _("Not digits alone.")
