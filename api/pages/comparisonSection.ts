import type { Comparison, ComparisonAnswer } from '../../shared/comparison/comparison.ts';
import { figureText } from '../../shared/figures/figureText.ts';
import { type Html, html } from './html.ts';

/** What the page of an experiment knows of a metric's figures. */
export type UnitOf = (metricId: string) => Parameters<typeof figureText>[1];

/** A choice of baselines, and the comparison with the chosen one: each metric as a sentence and as a row of a table. */
export function comparisonSection(
  choices: readonly { id: string; name: string }[],
  chosen: string | undefined,
  answer: ComparisonAnswer | undefined,
  unitOf: UnitOf,
): Html | undefined {
  if (choices.length === 0) return undefined;
  return html`<h2>Comparison</h2>
<form method="get"><label>Baseline <select name="baseline">
<option value="">none</option>
${choices.map(({ id, name }) => html`<option value="${id}"${id === chosen && html` selected`}>${name}</option>`)}
</select> <button>Compare</button></label></form>
${answer && comparisonTable(answer, unitOf)}`;
}

function comparisonTable({ baseline, comparisons, warnings }: ComparisonAnswer, unitOf: UnitOf): Html {
  const rows = comparisons.map((one) => {
    const unit = unitOf(one.metricId);
    const show = (value: number | null) => html`<td class="number">${figureText(value, unit)}</td>`;
    return html`<tr><td>${one.metric}</td>${show(one.baseline.mean)}${show(one.other.mean)}${show(one.difference)}
<td class="number">${one.interval && `${figureText(one.interval.low, unit)} to ${figureText(one.interval.high, unit)}`}</td>
<td class="number">${figureText(one.pAdjusted, null)}</td>
<td class="number">${one.better ?? '–'} / ${one.worse ?? '–'} / ${one.same}</td><td class="number">${one.pairs}</td><td class="number">${one.missing}</td>
<td class="${classOf(one)}">${one.verdict ?? 'differs'}</td></tr>`;
  });
  return html`${warnings.map((warning) => html`<p class="error">${warning}</p>`)}
<ul>${comparisons.map(({ sentence }) => html`<li>${sentence}</li>`)}</ul>
<div class="scroll"><table><thead><tr><th>Metric</th><th class="number">${baseline.name}</th><th class="number">This</th><th class="number">Difference</th>
<th class="number">Interval</th><th class="number">p, adjusted</th><th class="number">Better / worse / same</th><th class="number">Pairs</th>
<th class="number">Missing</th><th>Verdict</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

const classOf = ({ verdict }: Comparison): string => (verdict === 'better' || verdict === 'worse' ? verdict : '');
