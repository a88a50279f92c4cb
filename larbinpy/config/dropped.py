"""The parameters that are removed from links by default."""

#: Parameters for tracking or sessions, whatever the site: pages are the same without them. Names
#: that mean something else on some sites are not in the list (sid, ref, CFID).
DROPPED = (
    *("utm_*", "mtm_*", "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid"),
    *("yclid", "ysclid", "twclid", "ttclid", "igshid", "srsltid", "li_fat_id", "mc_cid", "mc_eid"),
    *("mkt_tok", "_ga", "_gl", "_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "oly_anon_id"),
    *("oly_enc_id", "vero_id", "wickedid", "s_kwcid"),
    *("PHPSESSID", "jsessionid", "ASPSESSIONID*", "osCsid", "zenid"),
)
