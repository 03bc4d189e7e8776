// The theme switch. Loaded before the body, so that nothing is drawn in the wrong colours first.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const saved = () => { try { return localStorage.getItem("rocmonitor-theme"); } catch { return null; } };
  const save = theme => { try { localStorage.setItem("rocmonitor-theme", theme); } catch { /* not allowed */ } };
  const chosen = saved();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
    button.hidden = false;
    label();
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      save(root.dataset.theme);
      label();
      document.dispatchEvent(new Event("theme"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      label();
      document.dispatchEvent(new Event("theme"));
    });
    // Paper is light: the charts, which are drawn, follow.
    let before;
    const show = theme => {
      if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
      document.dispatchEvent(new Event("theme"));
    };
    addEventListener("beforeprint", () => { before = root.dataset.theme; show("light"); });
    addEventListener("afterprint", () => show(before));
    const status = document.getElementById("status");
    if (status) status.addEventListener("change", () => status.form.requestSubmit());
  });
})();
