"""What whoever runs the product needs: checks of the settings, backup and restore, migrations beside recording."""
