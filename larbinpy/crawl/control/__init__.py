"""The control of a running crawl: its commands, and the values that they change.

control        the commands of the console
live_settings  the settings in force, some of which commands change
mode           what the engine may do now
searches       the share of searches on the disk in the turns
disk_pause     the pause while the disk is full
"""
