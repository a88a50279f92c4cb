// An application of the time before the History API: one document, pages behind "#/".
function get(url, then) {
  var request = new XMLHttpRequest();
  request.onload = function () { then(JSON.parse(request.responseText)); };
  request.open("GET", url);
  request.send();
}

function show() {
  var path = location.hash.slice(1) || "/";
  document.querySelector("article").innerHTML = "";
  get("/api/page?path=" + encodeURIComponent(path), function (page) {
    document.querySelector("article").innerHTML = "<p>" + page.text + "</p>";
  });
}

addEventListener("hashchange", show);
get("/api/menu", function (paths) {
  document.querySelector("nav").innerHTML = paths.map(function (path) {
    return '<a href="#' + path + '">' + path + "</a>";
  }).join(" ");
  show();
});
