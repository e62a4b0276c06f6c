"""The firmware's table (SMBIOS): memory modules and slots, from its bytes or from what dmidecode writes."""
