// Names for what the theme leaves without one: the arrows of the navigation, and the search button by what it shows.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll("summary > .toctree-toggle")) {
    const page = arrow.closest("li")?.querySelector("a")?.textContent.trim();
    arrow.parentElement.setAttribute("aria-label", page ? `Pages below ${page}` : "Pages below");
  }
  for (const button of document.querySelectorAll(".search-button-field")) button.setAttribute("aria-label", button.innerText.replace(/\s+/g, " ").trim() || "Search");
});
