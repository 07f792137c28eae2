const shown = { ready: "Copy", done: "Copied", failed: "Not copied" };
const seconds = 2;

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without HTTPS, on any machine but this one, there is only the old way.
  const box = document.createElement("textarea");
  box.value = text;
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  if (!done) throw new Error("refused");
}

export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("button");
  const said = button.querySelector("span");
  let back;
  const tell = (state) => {
    said.textContent = shown[state];
    button.dataset.state = state;
  };
  button.title = data.help;
  button.onclick = async () => {
    clearTimeout(back);
    try {
      await copy(data.text);
      tell("done");
    } catch {
      tell("failed");
    }
    back = setTimeout(() => tell("ready"), 1000 * seconds);
  };
  return () => clearTimeout(back);
}
