// Order of what a search finds: the page of the very name that was asked for, the shortest of its places first; then
// recipes and lessons, the reference, and design notes last.
var Scorer = {
  score: function (result) {
    const bare = (text) => text.toLowerCase().replace(/[\s_]/g, "");
    const asked = bare(new URLSearchParams(window.location.search).get("q") || "");
    const place = result[0], name = bare(result[1].replace(/<[^>]*>/g, "")), score = result[4];
    const parts = name.split(".");
    if (result[2] && place.startsWith("reference/api/") && (name === asked || parts.at(-1) === asked)) return score + 60 - 5 * parts.length;
    if (place.startsWith("design/")) return score - 40;
    if (place.startsWith("learn/") || place.startsWith("do/")) return score + 10;
    return score;
  },
  objNameMatch: 20, objPartialMatch: 8,
  objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
