"""SMBIOS, the firmware's table of memory modules and slots: raw bytes or dmidecode output."""
