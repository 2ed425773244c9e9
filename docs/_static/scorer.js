// Order of what a search finds: recipes and lessons first, then the reference, design notes last.
var Scorer = {
  score: function (result) {
    var place = result[0], score = result[4];
    if (place.startsWith("design/")) return score - 40;
    if (place.startsWith("learn/") || place.startsWith("do/")) return score + 10;
    return score;
  },
  objNameMatch: 20, objPartialMatch: 8,
  objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
