// Finds the sections that hold every word asked for; a word of the title counts most. Works from files: see
// search_from_file.py, which writes the index as a script that calls searchFor.
(function () {
  "use strict";
  var input = document.getElementById("mkdocs-search-query");
  var list = document.getElementById("mkdocs-search-results");
  if (!input || !list) { return; }
  var MOST = 40, AROUND = 120;

  function score(section, words) {
    var title = section.title.toLowerCase(), text = section.text.toLowerCase(), sum = 0;
    for (var i = 0; i < words.length; i++) {
      var inTitle = title.indexOf(words[i]) >= 0, found = text.split(words[i]).length - 1;
      if (!inTitle && !found) { return 0; }
      sum += (inTitle ? 10 : 0) + Math.min(found, 5);
    }
    return sum;
  }

  function excerpt(section, words) {
    var place = Math.max(0, section.text.toLowerCase().indexOf(words[0]) - AROUND / 2);
    var part = section.text.substr(place, 2 * AROUND);
    return (place ? "… " : "") + part + (place + part.length < section.text.length ? " …" : "");
  }

  function shown(section, words) {
    var article = document.createElement("article"), head = document.createElement("h3");
    var link = document.createElement("a"), text = document.createElement("p");
    link.href = base_url.replace(/\/?$/, "/") + section.location;
    link.textContent = section.title;
    text.textContent = excerpt(section, words);
    head.appendChild(link);
    article.appendChild(head);
    article.appendChild(text);
    return article;
  }

  window.searchFor = function (index) {
    function search() {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      var found = !words.length ? [] : index.docs
        .map(function (section, place) { return { section: section, place: place, score: score(section, words) }; })
        .filter(function (one) { return one.score > 0; })
        .sort(function (a, b) { return b.score - a.score || a.place - b.place; })
        .slice(0, MOST);
      list.textContent = found.length ? "" : words.length ? list.getAttribute("data-no-results-text") : "";
      found.forEach(function (one) { list.appendChild(shown(one.section, words)); });
    }
    input.addEventListener("input", search);
    input.form.addEventListener("submit", function (event) { event.preventDefault(); search(); });
    search();
  };

  input.value = new URLSearchParams(window.location.search).get("q") || "";
  var script = document.createElement("script");
  script.src = base_url.replace(/\/?$/, "/") + "search/index.js";
  document.head.appendChild(script);
})();
