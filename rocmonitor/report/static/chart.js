// Draws the panels that a page describes in JSON, one below the other on one time axis, with uPlot.
"use strict";
document.querySelectorAll("figure.chart").forEach((figure, number) => {
  const source = document.getElementById(figure.dataset.chart);
  if (!source || typeof uPlot === "undefined") return;
  const spec = JSON.parse(source.textContent);
  if (!spec.starts.length) return;
  const plot = figure.querySelector(".plot");
  const readout = figure.querySelector(".readout");
  const middle = spec.starts.map((start, at) => (start + spec.ends[at]) / 2);
  const MANY = 100;
  const widths = { main: 300, narrow: 240, thin: 74 };
  const left = spec.panels[0].format === "signed" ? 74 : 64, right = 12;
  let charts = [];
  let range = null;
  const isFile = document.querySelector("meta[http-equiv]") !== null; // with a policy of its own: nobody can be asked
  let pinned = -1;
  const hidden = new Set();
  const shows = name => !hidden.has(name);

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const formats = {
    area: (value, digits = 3) => value.toFixed(digits),
    signed: (value, digits = 4) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(digits),
    count: value => Math.round(value).toLocaleString("en"),
    percent: value => `${+(100 * value).toPrecision(value > 0.999 && value < 1 ? Math.max(3, 1 - Math.floor(Math.log10(1 - value))) : 3)} %`,
    number: value => `${+value.toPrecision(3)}`,
  };
  // A number with its interval: as many decimals as that allows, one unit of the last of an AUROC, three of a difference.
  function measured(value, low, high, format, least = 2) {
    if (!known(low)) return formats[format](value);
    const digits = Math.max(least, [2, 3].find(each => (high - low) / 2 * 10 ** each >= (format === "area" ? 1 : 3)) || 4);
    const [shown, ...ends] = [value, low, high].map(each => formats[format](each, digits));
    return `${shown} (${ends.join(" to ")})`;
  }
  // Decimals that show on which side of both ends a value lies, as in the sentence above.
  const beside = (value, low, high) => [2, 3, 4, 5].find(digits => [low, high].every(end => Math.sign(value - end) === Math.sign(value.toFixed(digits) - end.toFixed(digits)))) || 6;
  const inkOf = mark => ["degraded", "error", "at-risk", "ok", "improved", "insufficient"].includes(mark.kind) ? mark.kind : "champion";
  const known = value => value !== null && value !== undefined;
  const zoned = stamp => uPlot.tzDate(new Date(stamp * 1e3), spec.zone);

  const written = options => new Intl.DateTimeFormat("en-GB", { timeZone: spec.zone, ...options });
  const forms = {
    year: written({ month: "short", year: "numeric" }), day: written({ day: "numeric", month: "short" }),
    minute: written({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false }),
  };
  // Dates as they are written beside the months of other years, within a year, and within a day.
  function dates(chart, ticks, axis, space, step) {
    const long = step >= 28 * 86400, form = long ? forms.year : step >= 86400 ? forms.day : forms.minute;
    const edge = chart.width - left; // a date that would be cut there is left out
    return ticks.map(tick => { const text = form.format(new Date(tick * 1e3)); return chart.valToPos(tick, "x") + 3.2 * text.length > edge ? "" : text; });
  }

  // The window under the cursor.
  function under(chart) {
    if (!known(chart.cursor.left) || chart.cursor.left < 0) return null;
    const value = chart.posToVal(chart.cursor.left, "x");
    const at = spec.starts.findIndex((start, index) => value >= start && value < spec.ends[index]);
    return at < 0 ? null : at;
  }

  // The ends of the axis of values: all that is drawn, and a little room.
  function extent(panel) {
    if (panel.extent) return panel.extent;
    const lists = [panel.y, ...(shows("intervals") ? [panel.low, panel.high] : []), ...(shows(panel.band) ? [panel.band_low, panel.band_high] : []),
      ...(shows("outlooks") ? Object.values(panel.outlook || {}) : [])].filter(Boolean);
    const values = lists.flat().filter(known).concat((panel.lines || []).map(line => line.y));
    if (panel === spec.panels[0] && spec.reference && known(spec.reference.low))
      values.push(spec.reference.low, spec.reference.high);
    if (panel.kind === "steps") values.push(0);
    const low = Math.min(...values), high = Math.max(...values);
    const room = 0.06 * (high - low) || 0.01;
    if (panel.kind === "steps") return [0, (high + room) || 1];
    return [low - room, panel.format === "area" ? Math.min(high + room, 1.005) : high + room];
  }

  // Words that stay readable over lines: at the first of some heights where no other word of the panel is, else nowhere.
  let taken = [];
  function write(ctx, text, x, ys, ink) {
    ctx.font = `${12 * devicePixelRatio}px ${colour("sans")}`;
    const wide = ctx.measureText(text).width, tall = 14 * devicePixelRatio;
    const y = [ys].flat().find(each => !taken.some(box => x < box.x + box.wide + 6 && box.x < x + wide + 6 && Math.abs(each - box.y) < tall));
    if (!known(y)) return;
    taken.push({ x, y, wide });
    ctx.textAlign = "left";
    ctx.setLineDash([]);
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.strokeStyle = colour("paper");
    ctx.lineJoin = "round";
    ctx.strokeText(text, x, y);
    ctx.fillStyle = colour(ink);
    ctx.fillText(text, x, y);
  }

  function drawBelow(chart, panel) {
    taken = [];
    const { ctx } = chart, { left: x0, top, width, height } = chart.bbox;
    const x = value => chart.valToPos(value, "x", true), y = value => chart.valToPos(value, "y", true);
    const pixel = devicePixelRatio;
    ctx.save();
    ctx.beginPath(); ctx.rect(x0, top, width, height); ctx.clip();
    if (panel.band_low && shows(panel.band)) {
      ctx.fillStyle = colour("band");
      panel.band_low.forEach((low, index) => {
        const high = panel.band_high[index];
        if (!known(low) || !known(high)) return;
        const from = Math.round(x(spec.starts[index])), to = Math.round(x(spec.ends[index]));
        ctx.fillRect(from, y(high), Math.max(to - from, pixel), y(low) - y(high));
      });
    }
    const at = spec.slugs.indexOf(spec.chosen);
    if (spec.chosen && at >= 0) {
      ctx.fillStyle = colour("line");
      ctx.globalAlpha = 0.5;
      ctx.fillRect(x(spec.starts[at]), top, x(spec.ends[at]) - x(spec.starts[at]), height);
      ctx.globalAlpha = 1;
    }
    if (spec.reference) {
      const from = x(spec.reference.start), to = x(spec.reference.end);
      if (panel === spec.panels[0] && known(spec.reference.auc)) {
        ctx.globalAlpha = 0.35;
        ctx.fillStyle = colour("reference");
        ctx.fillRect(from, y(spec.reference.high), to - from, Math.max(y(spec.reference.low) - y(spec.reference.high), pixel));
        ctx.globalAlpha = 1;
        ctx.fillRect(from, y(spec.reference.auc) - pixel / 2, to - from, pixel);
      }
      ctx.strokeStyle = colour("reference");
      ctx.setLineDash([4 * pixel, 4 * pixel]);
      ctx.lineWidth = pixel;
      ctx.beginPath(); ctx.moveTo(to, top); ctx.lineTo(to, top + height); ctx.stroke();
    }
    (panel.steps || []).filter(() => shows("changes")).forEach(step => {
      const from = x(step.start), across = x(step.sure) - from;
      ctx.fillStyle = ctx.strokeStyle = colour("degraded");
      ctx.globalAlpha = 0.18;
      ctx.fillRect(from, y(step.high), across, Math.max(y(step.low) - y(step.high), pixel));
      ctx.globalAlpha = 1;
      ctx.fillRect(from, y(step.auc) - pixel, across, 2 * pixel);
      ctx.setLineDash([6 * pixel, 5 * pixel]);
      ctx.lineWidth = 2 * pixel;
      ctx.beginPath(); ctx.moveTo(from + across, y(step.auc)); ctx.lineTo(x(step.end), y(step.auc)); ctx.stroke();
    });
    spec.verticals.forEach(mark => {
      if (mark.kind === "revision" || !shows("changes")) return;
      ctx.strokeStyle = colour(inkOf(mark));
      ctx.setLineDash(mark.kind === "version" ? [2 * pixel, 3 * pixel] : []);
      ctx.lineWidth = pixel;
      ctx.beginPath(); ctx.moveTo(x(mark.x), top); ctx.lineTo(x(mark.x), top + height); ctx.stroke();
    });
    ctx.restore();
  }

  function drawAbove(chart, panel) {
    const { ctx } = chart, { left: x0, top, width, height } = chart.bbox;
    const x = value => chart.valToPos(value, "x", true), y = value => chart.valToPos(value, "y", true);
    const pixel = devicePixelRatio;
    ctx.save();
    ctx.beginPath(); ctx.rect(x0, top, width, height); ctx.clip();
    (panel.lines || []).forEach(line => {
      ctx.strokeStyle = colour("ink");
      ctx.setLineDash([2 * pixel, 3 * pixel]); ctx.lineWidth = pixel;
      ctx.beginPath(); ctx.moveTo(x0, y(line.y)); ctx.lineTo(x0 + width, y(line.y)); ctx.stroke();
    });
    ctx.setLineDash([]);
    const many = middle.filter((value, at) => known(panel.y[at]) && value >= chart.scales.x.min && value <= chart.scales.x.max).length > MANY;
    const dense = width / pixel / Math.max(1, middle.filter(value => value >= chart.scales.x.min && value <= chart.scales.x.max).length) < 7;
    const size = (dense ? 2 : 4) * pixel;
    const lost = at => shows("changes") && (panel.steps || []).some(step => middle[at] >= step.start && middle[at] <= step.end);
    if (many) weekly(chart, panel); else join(chart, panel);
    if (panel.outlook && shows("outlooks")) outlooks(chart, panel, size);
    panel.y.forEach((value, at) => {
      if (!known(value)) return;
      const cx = x(middle[at]), cy = y(value);
      const bad = panel.marks[at] === "degraded", past = panel.marks[at] === "reference";
      ctx.strokeStyle = ctx.fillStyle = colour(bad ? "degraded" : past ? "reference" : "champion");
      ctx.lineWidth = (past ? 1 : 1.5) * pixel;
      if (many && (!bad || lost(at))) ctx.globalAlpha = 0.35; // the step says what a hundred marks would
      if (!many && shows("intervals") && known(panel.low[at]) && known(panel.high[at])) {
        ctx.beginPath(); ctx.moveTo(cx, y(panel.low[at])); ctx.lineTo(cx, y(panel.high[at])); ctx.stroke();
      }
      ctx.beginPath();
      if (bad) {
        ctx.moveTo(cx, cy - 1.4 * size); ctx.lineTo(cx + 1.3 * size, cy + size); ctx.lineTo(cx - 1.3 * size, cy + size); ctx.closePath();
      } else ctx.arc(cx, cy, past ? size / 2 : size, 0, 2 * Math.PI);
      if (panel.hollow[at]) { ctx.fillStyle = colour("paper"); ctx.fill(); ctx.stroke(); } else ctx.fill();
      ctx.globalAlpha = 1;
    });
    (spec.verticals || []).filter(mark => mark.kind === "revision").forEach(mark => {
      ctx.fillStyle = colour("soft");
      ctx.fillRect(x(mark.x), top + height - 6 * pixel, 3 * pixel, 6 * pixel);
    });
    (panel.lines || []).forEach(line => write(ctx, line.text, x0 + 4 * pixel, [y(line.y) - 5 * pixel, y(line.y) + 15 * pixel], "soft"));
    ctx.font = `${12 * pixel}px ${colour("sans")}`;
    (panel.steps || []).filter(() => shows("changes")).forEach(step => {
      const begins = Math.max(x(step.start), x0), fits = text => ctx.measureText(text).width + 8 * pixel < x0 + width - begins;
      const text = fits(step.text) ? step.text : step.text.split(" (")[0]; // else it would lie on the line of the alarm
      const from = Math.min(begins, x0 + width - ctx.measureText(text).width - 8 * pixel) + 4 * pixel;
      write(ctx, text, from, [6, 21].map(each => top + height - each * pixel), "degraded");
    });
    names(chart, panel);
    ctx.restore();
  }

  // The names of the band and of changes of status, where there is room.
  function names(chart, panel) {
    const { ctx } = chart, { left: x0, top, width } = chart.bbox, pixel = devicePixelRatio;
    const x = value => chart.valToPos(value, "x", true), y = value => chart.valToPos(value, "y", true);
    ctx.font = `${12 * pixel}px ${colour("sans")}`;
    spec.verticals.filter(mark => mark.label && shows("changes")).sort((one, other) => one.x - other.x).forEach(mark => {
      const text = `${mark.label} ${forms.day.format(new Date(mark.x * 1e3))}`, wide = ctx.measureText(text).width;
      const right = x(mark.x) + 4 * pixel, from = right + wide > x0 + width ? right - wide - 8 * pixel : right;
      if (from < x0 || x(mark.x) > x0 + width) return;
      write(ctx, text, from, [13, 28, 43].map(each => top + each * pixel), inkOf(mark));
    });
    const last = panel.band_high && shows(panel.band) ? panel.band_high.findLastIndex(known) : -1;
    if (last < 0) return;
    const edge = y(panel.band_high[last]), above = edge - top > 34 * pixel ? edge - 6 * pixel : edge + 16 * pixel, wide = ctx.measureText(panel.band).width, end = Math.min(x(spec.ends[last]), x0 + width) - wide - 6 * pixel;
    const near = panel.y.map((value, at) => at).filter(at => known(panel.y[at]) && x(middle[at]) > end - 5 * pixel && x(middle[at]) < end + wide + 5 * pixel);
    const clear = base => !near.some(at => y(panel.high[at] ?? panel.y[at]) < base + 2 * pixel && y(panel.low[at] ?? panel.y[at]) > base - 12 * pixel);
    const bases = [above, edge - 6 * pixel, edge + 16 * pixel, edge + 31 * pixel].map(each => Math.max(each, top + 13 * pixel));
    write(ctx, panel.band, end, bases.filter(clear), "soft"); // on no window: the caption names the band too
  }

  // Of many windows, the mean of each week by their precision, with its interval as a ribbon.
  function weekly(chart, panel) {
    const { ctx } = chart, week = 7 * 86400, sums = new Map();
    panel.y.forEach((value, at) => {
      if (!known(value) || !known(panel.low[at]) || panel.high[at] <= panel.low[at]) return;
      const kind = panel.marks[at] === "reference" ? "reference" : "champion";
      const key = `${kind} ${Math.floor((middle[at] - spec.starts[0]) / week)}`;
      const sum = sums.get(key) || { kind, weight: 0, value: 0, x: 0, n: 0 }, weight = (3.92 / (panel.high[at] - panel.low[at])) ** 2;
      sum.weight += weight; sum.value += weight * value; sum.x += middle[at]; sum.n += 1;
      sums.set(key, sum);
    });
    const x = each => chart.valToPos(each.x / each.n, "x", true), y = (each, errors) => chart.valToPos(each.value / each.weight + errors * each.weight ** -0.5, "y", true);
    ["reference", "champion"].forEach(kind => {
      const found = [...sums.values()].filter(each => each.kind === kind);
      if (!found.length) return;
      ctx.fillStyle = ctx.strokeStyle = colour(kind);
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.beginPath(); found.forEach(each => ctx.lineTo(x(each), y(each, 1.96))); found.toReversed().forEach(each => ctx.lineTo(x(each), y(each, -1.96)));
      ctx.globalAlpha = 0.25; ctx.fill(); ctx.globalAlpha = 1;
      ctx.beginPath(); found.forEach(each => ctx.lineTo(x(each), y(each, 0))); ctx.stroke();
    });
  }

  // The line through the points of the windows that were judged.
  function join(chart, panel) {
    const { ctx } = chart;
    ctx.strokeStyle = colour("champion");
    ctx.globalAlpha = 0.6;
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    let drawn = false;
    panel.y.forEach((value, at) => {
      if (!known(value) || panel.marks[at] === "reference") { drawn = false; return; }
      const x = chart.valToPos(middle[at], "x", true), y = chart.valToPos(value, "y", true);
      if (drawn) ctx.lineTo(x, y); else ctx.moveTo(x, y);
      drawn = true;
    });
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  // What the scores foretold: a small square beside what came of it, the hollow end of the line before that.
  function outlooks(chart, panel, size) {
    const { ctx } = chart, pixel = devicePixelRatio, { auc, low, high } = panel.outlook;
    const x = value => chart.valToPos(value, "x", true), y = value => chart.valToPos(value, "y", true);
    let from = null;
    auc.forEach((value, at) => {
      const judged = known(panel.y[at]);
      if (judged) from = [x(middle[at]), y(panel.y[at])];
      if (!known(value)) return;
      const shift = judged ? 1.6 * size : 0, cx = x(middle[at]) + shift, cy = y(value);
      const warns = panel.marks[at] === "at-risk";
      ctx.strokeStyle = colour(judged ? "reference" : warns ? "at-risk" : "champion");
      ctx.lineWidth = (judged ? 1 : 1.5) * pixel;
      if (!judged && from) {
        ctx.setLineDash([4 * pixel, 3 * pixel]);
        ctx.beginPath(); ctx.moveTo(...from); ctx.lineTo(cx, cy); ctx.stroke();
      }
      if (!judged) from = [cx, cy];
      ctx.setLineDash(judged ? [] : [2 * pixel, 2 * pixel]);
      if (known(low[at])) { ctx.beginPath(); ctx.moveTo(cx, y(low[at])); ctx.lineTo(cx, y(high[at])); ctx.stroke(); }
      ctx.setLineDash([]);
      ctx.fillStyle = colour("paper");
      ctx.beginPath();
      if (judged) ctx.rect(cx - size / 2, cy - size / 2, size, size);
      else if (warns) { ctx.moveTo(cx, cy - 1.5 * size); ctx.lineTo(cx + 1.5 * size, cy); ctx.lineTo(cx, cy + 1.5 * size); ctx.lineTo(cx - 1.5 * size, cy); ctx.closePath(); }
      else ctx.arc(cx, cy, size, 0, 2 * Math.PI);
      ctx.fill(); ctx.stroke();
    });
  }

  // The largest of 1, 2 and 5 times a power of ten within the axis.
  function round(high) {
    const power = 10 ** Math.floor(Math.log10(high));
    return [5, 2, 1].find(each => each * power <= high) * power;
  }

  // The decimals that show each number of an axis as it is: 0.025 needs three.
  const digitsOf = step => { let digits = 2; while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1; return digits; };

  function options(panel, place, width) {
    const main = place === 0, last = place === spec.panels.length - 1;
    const axis = { stroke: colour("soft"), font: `12px ${colour("sans")}`, grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid") } };
    const line = { stroke: colour("champion"), width: 1.5, points: { show: false } };
    const series = [{}];
    if (panel.kind === "steps") series.push({ ...line, paths: () => null });
    else series.push({ ...line, paths: () => null });
    if (panel.middle) series.push({ ...line, stroke: colour("reference"), dash: [6, 4] });
    return {
      width, height: main ? (width < 560 ? widths.narrow : widths.main) + (last ? 0 : -24) : widths.thin + (last ? 26 : 0),
      tzDate: zoned, padding: [main ? 22 : 18, right, last ? 0 : 4, 0],
      legend: { show: false },
      cursor: { y: false, sync: { key: `rocmonitor-${number}`, setSeries: false }, points: { show: false }, drag: { x: true, y: false, dist: 6 } },
      select: { show: true },
      scales: { x: { time: true, range: () => range || [spec.reference ? Math.min(spec.starts[0], spec.reference.start) : spec.starts[0], spec.ends[spec.ends.length - 1]] }, y: { range: () => extent(panel) } },
      axes: [
        { ...axis, show: last, space: 70, size: 32, values: dates },
        { ...axis, size: left, values: (_, ticks, __, ___, step) => ticks.map(tick => formats[panel.format](tick, digitsOf(step))), ...(main ? {} : { splits: (_, __, low, high) => [0, round(high)] }) },
      ],
      series,
      hooks: {
        drawClear: [chart => drawBelow(chart, panel)],
        draw: [chart => { if (panel.kind === "points") drawAbove(chart, panel); else steps(chart, panel); title(chart, panel, main); }],
        setCursor: [chart => { if (main) show(under(chart)); }],
        setSelect: [chart => zoom(chart)],
      },
    };
  }

  // A step for each window, as wide as it is.
  function steps(chart, panel) {
    const { ctx } = chart, { left: x0, top, width, height } = chart.bbox, pixel = devicePixelRatio;
    ctx.save();
    ctx.beginPath(); ctx.rect(x0, top - pixel, width, height + pixel); ctx.clip();
    panel.y.forEach((value, at) => {
      if (!known(value)) return;
      const from = Math.round(chart.valToPos(spec.starts[at], "x", true)), to = Math.round(chart.valToPos(spec.ends[at], "x", true));
      const level = chart.valToPos(value, "y", true), across = Math.max(to - from, pixel);
      ctx.fillStyle = colour("band");
      ctx.fillRect(from, level, across, top + height - level);
      ctx.fillStyle = colour("champion");
      ctx.fillRect(from, level - pixel / 2, across, 1.5 * pixel);
    });
    ctx.restore();
  }

  function title(chart, panel, main) {
    const { ctx } = chart, pixel = devicePixelRatio;
    ctx.save();
    const text = main && spec.reference && known(spec.reference.auc) ? `${panel.title}; reference ${spec.reference.auc.toFixed(2)}, left of the dashed line` : panel.title;
    write(ctx, text, chart.bbox.left + 4 * pixel, chart.bbox.top - 5 * pixel, main ? "ink" : "soft");
    ctx.restore();
  }

  function zoom(chart) {
    if (chart.select.width < 6) return;
    const from = chart.posToVal(chart.select.left, "x"), to = chart.posToVal(chart.select.left + chart.select.width, "x");
    range = [from, to];
    charts.forEach(each => { each.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false); each.redraw(true, true); each.setScale("x", { min: from, max: to }); });
  }

  function words(at) {
    if (!known(at) || at < 0) return "";
    const main = spec.panels[0], form = formats[main.format], parts = [spec.names[at]];
    const area = main.format === "area", banded = main.band_low && known(main.band_low[at]);
    const least = area && banded && known(main.y[at]) ? beside(main.y[at], main.band_low[at], main.band_high[at]) : 2;
    if (known(main.y[at])) parts.push(`${main.title} ${measured(main.y[at], main.low[at], main.high[at], main.format, least)}`);
    if (main.outlook && known(main.outlook.auc[at])) parts.push(`outlook ${measured(main.outlook.auc[at], main.outlook.low[at], main.outlook.high[at], "area")}`);
    if (banded) parts.push(`${main.band} ${form(main.band_low[at], area ? least : 3)} to ${form(main.band_high[at], area ? least : 3)}`);
    spec.panels.slice(1).forEach(panel => { if (known(panel.y[at])) parts.push(`${panel.title} ${formats[panel.format](panel.y[at])}`); });
    if (main.marks[at] && !["ok", "reference"].includes(main.marks[at])) parts.splice(1, 0, main.marks[at]);
    spec.verticals.filter(mark => mark.x >= spec.starts[at] && mark.x < spec.ends[at]).forEach(mark => parts.push(mark.text.split(": ")[0]));
    return parts.join(" · ");
  }

  let marked = spec.chosen ? spec.slugs.indexOf(spec.chosen) : spec.slugs.length - 1;
  function show(at) {
    const now = known(at) ? at : marked;
    readout.textContent = words(now);
    if (pinned < 0 || pinned === now) return;
    readout.append(document.createElement("br"), `compared with ${words(pinned)}${difference(now)}`);
  }

  // The difference to the window that is held, which shares no row with this one: its interval from both of theirs.
  function difference(at) {
    const { y, low, high } = spec.panels[0];
    if (![at, pinned].every(each => known(y[each]) && known(low[each]))) return "";
    const gap = y[at] - y[pinned];
    const down = Math.hypot(y[at] - low[at], high[pinned] - y[pinned]), up = Math.hypot(high[at] - y[at], y[pinned] - low[pinned]);
    return ` · difference about ${measured(gap, gap - down, gap + up, "signed")}`;
  }

  function open(at) {
    const slug = spec.slugs[at];
    if (!slug) return;
    const within = document.getElementById(slug === spec.chosen ? "window" : `window-${slug}`);
    if (within || isFile) return reveal(within, at);
    const address = new URL(location.href);
    address.searchParams.set("window", slug);
    address.searchParams.delete("revision");
    address.hash = "window";
    replace(address);
  }

  // A window that the page has in full.
  function reveal(section, at) {
    marked = at;
    show(at);
    if (!section) return;
    if (section.tagName === "DETAILS") section.open = true;
    section.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  // The lower half of the page for another window; without that, the whole page.
  async function replace(address) {
    try {
      const answer = await fetch(address, { credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const section = page.getElementById("window");
      if (!answer.ok || !section) throw new Error("no window");
      document.getElementById("window").replaceWith(document.adoptNode(section));
      history.replaceState(null, "", address);
      spec.chosen = address.searchParams.get("window");
      marked = spec.slugs.indexOf(spec.chosen);
      charts.forEach(chart => chart.redraw(false, false));
      reveal(document.getElementById("window"), marked);
    } catch { location.assign(address); }
  }

  function build() {
    charts.forEach(chart => chart.destroy());
    plot.replaceChildren();
    const width = plot.clientWidth;
    charts = spec.panels.map((panel, place) => {
      const data = [middle, panel.y];
      if (panel.middle) data.push(panel.middle);
      const chart = new uPlot(options(panel, place, width), data, plot);
      chart.over.addEventListener("dblclick", () => { range = null; charts.forEach(each => each.redraw(true, true)); charts.forEach(each => each.setScale("x", { min: null, max: null })); });
      let pressed = 0;
      chart.over.addEventListener("mousedown", event => { pressed = event.clientX; });
      chart.over.addEventListener("click", event => {
        if (Math.abs(event.clientX - pressed) < 6 && known(under(chart))) open(under(chart));
      });
      return chart;
    });
    show(null);
  }

  plot.addEventListener("keydown", event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = Math.min(Math.max((marked < 0 ? spec.slugs.length - 1 : marked) + step, 0), spec.slugs.length - 1);
      if (!spec.slugs[next] && spec.chosen) return;
      marked = next;
      charts[0].setCursor({ left: charts[0].valToPos(middle[marked], "x"), top: 10 });
      show(marked);
    } else if (event.key === "Enter") open(marked);
    else if (event.key === "Escape") { range = null; build(); }
  });

  const tools = document.createElement("div");
  tools.className = "tools";
  function tool(text, press, pressed) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    if (known(pressed)) made.setAttribute("aria-pressed", pressed);
    made.addEventListener("click", () => press(made));
    tools.append(made);
    return made;
  }

  function send(name, href) {
    const link = document.createElement("a");
    link.download = `${document.title.replace(/[^\w.-]+/g, "-")}.${name}`;
    link.href = href;
    link.click();
  }

  // What can be hidden, as far as this chart has it.
  const main = spec.panels[0];
  [["intervals", main.low.some(known)], [main.band, (main.band_low || []).some(known)], ["outlooks", main.outlook && main.outlook.auc.some(known)], ["changes", spec.verticals.length]]
    .filter(([, has]) => has).forEach(([name]) => { tool(name, made => {
      if (shows(name)) hidden.add(name); else hidden.delete(name);
      made.setAttribute("aria-pressed", shows(name));
      build();
    }, true).className = "series"; });
  tool("Compare with this window", made => {
    pinned = pinned < 0 ? marked : -1;
    made.setAttribute("aria-pressed", pinned >= 0);
    made.textContent = pinned < 0 ? "Compare with this window" : `Compared with ${spec.names[pinned]}`;
    show(null);
  }, false);

  // What is shown, as a table: the windows of the visible range.
  tool("CSV", () => {
    const columns = { window: spec.names, start: spec.starts, end: spec.ends, outcome: main.marks, [main.title]: main.y, low: main.low, high: main.high };
    if (main.band_low) Object.assign(columns, { [`${main.band} low`]: main.band_low, [`${main.band} high`]: main.band_high });
    if (main.outlook) Object.assign(columns, { outlook: main.outlook.auc, "outlook low": main.outlook.low, "outlook high": main.outlook.high });
    spec.panels.slice(1).forEach(panel => { columns[panel.title] = panel.y; });
    const quote = value => { const text = known(value) ? String(value) : ""; return /[",\n\r]/.test(text) || /^[=+@-](?![\d.])/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
    const time = value => new Date(value * 1e3).toISOString();
    const lines = spec.starts.map((start, at) => at).filter(at => !range || (spec.ends[at] > range[0] && spec.starts[at] < range[1]))
      .map(at => Object.entries(columns).map(([name, cells]) => quote(name === "start" || name === "end" ? time(cells[at]) : cells[at])).join(","));
    send("csv", `data:text/csv;charset=utf-8,${encodeURIComponent([Object.keys(columns).map(quote).join(","), ...lines].join("\r\n"))}`);
  });

  tool("Picture", () => {
    const canvases = charts.map(chart => chart.ctx.canvas);
    const whole = document.createElement("canvas");
    whole.width = Math.max(...canvases.map(each => each.width));
    whole.height = canvases.reduce((sum, each) => sum + each.height, 0);
    const ctx = whole.getContext("2d");
    ctx.fillStyle = colour("paper");
    ctx.fillRect(0, 0, whole.width, whole.height);
    let top = 0;
    canvases.forEach(each => { ctx.drawImage(each, 0, top); top += each.height; });
    send("png", whole.toDataURL("image/png"));
  }).className = "save";

  build();
  figure.append(tools);
  document.addEventListener("theme", build);
  let width = plot.clientWidth;
  new ResizeObserver(() => { if (plot.clientWidth !== width) { width = plot.clientWidth; build(); } }).observe(plot);
});
