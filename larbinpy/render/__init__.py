"""Pages that scripts make: a browser reads them, and the crawl fetches all that they ask for.

Only a crawl with `render` loads these modules.

    renderer    the pages that wait, the tabs of the browser, and what came of each page
    browser     Chromium: how it is started without a network, watched and started again
    pipe        its debugging protocol: commands, replies and events
    tab         leads a page from its bytes to its document
    document    the scripts that do so within the page
    parts       what each request of a page gets; replies that pages share while they are fresh
    turns       when parts are asked for, by the sites and addresses of the frontier
"""
