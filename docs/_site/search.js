// Stands before material's search worker, in the same file: has the sections come first whose name
// is what was typed.
//
// The worker looks for all words that begin so, and what few sections have weighs more there:
// "BatchNorm" would be answered with BatchNormReLU.
(() => {
  const QUERY = 2, RESULT = 3; // kinds of messages between the page and the worker
  const send = self.postMessage.bind(self);
  let typed = "";

  // How well a section's name ends in what was typed: 2 and more, but for capitals 1 and more, or
  // not at all, 0. The shorter of two names is the better: nd.dot is before nd.sparse.dot.
  const likeness = section => {
    const name = section.title.replace(/<[^>]*>/g, ""); // what was found is marked in it
    const within = (whole, part) => ("." + whole).endsWith("." + part);
    if (!within(name.toLowerCase(), typed.toLowerCase())) return 0;
    return (within(name, typed) ? 2 : 1) + 1 / (1 + name.length);
  };

  // Sections of one page; those below the score of the first are folded away.
  const ordered = sections => {
    const most = Math.max(...sections.map(section => section.score));
    return sections
      .map(section => ({...section, likeness: likeness(section)}))
      .map(section => (section.likeness ? {...section, score: most} : section))
      .sort((a, b) => b.likeness - a.likeness);
  };

  addEventListener("message", ({data}) => {
    if (data.type === QUERY) typed = data.data.trim();
  });
  self.postMessage = message => {
    if (message.type === RESULT && typed) {
      const liked = pages => Math.max(...pages.map(section => section.likeness));
      message.data.items = message.data.items.map(ordered).sort((a, b) => liked(b) - liked(a));
    }
    send(message);
  };
})();
