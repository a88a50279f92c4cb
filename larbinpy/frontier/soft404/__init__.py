"""Soft 404s: pages that a site shows for names that do not exist, without saying 404.

A site is asked for names that cannot exist. Its answers are kept, and each page of the site is
compared with them (`answers`); `probes` has the state of all sites, and keeps it on the disk.
Nothing else here uses a file, and nothing a socket or a clock. The idea of comparing a page with
that of a random sibling is from Bar-Yossef, Broder, Kumar and Tomkins, "Sic Transit Gloria Telae"
(WWW 2004).
"""
