"use strict";
document.documentElement.classList.add("with-script");
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      // Without access to the clipboard the text is selected, to be copied by hand.
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
  });
}
