import type { GateResult } from '../../client/index.ts';
import { figureText } from '../../shared/figures/figureText.ts';
import { withoutControlCharacters } from '../terminal/terminal.ts';
import { gateWords, shownTags } from './gateWords.ts';

const signs: Record<GateResult['status'], string> = { passed: '✅', failed: '❌', undecided: '❓' };
const rules = { max_drop: 'worse by at most', min: 'at least', max: 'at most', max_failed: 'failed rows, at most' };

/** For a pull request. */
export function gateMarkdown(
  { status, experiment, baseline, baseline_choice: choice, checks, reasons, warnings }: GateResult,
  link: string,
): string {
  const tags = baseline ? shownTags(baseline) : [];
  const against = baseline ? `, against **${plain(baseline.name)}**${tags.length > 0 ? ` (${plain(tags.join(', '))})` : ''}` : '';
  const rows = checks.map(({ rule, metric, limit, status: of, value, baseline_value, difference, interval, rows: count }) => [
    `${signs[of]} ${gateWords[of]}`,
    `${metric === null ? '' : `${plain(metric)} `}${rules[rule]} ${figureText(limit, null)}`,
    ...[value, baseline_value, difference].map((one) => figureText(one, null)),
    interval ? `${figureText(interval.low, null)} to ${figureText(interval.high, null)}` : '–',
    String(count),
  ]);
  const cells = (texts: readonly string[]): string => `| ${texts.join(' | ')} |`;
  const titles = ['', 'check', 'this', 'baseline', 'difference', 'interval', 'rows'];
  return [
    `### ${signs[status]} Gate ${gateWords[status]}: [${plain(experiment.name)}](${link})`,
    `${experiment.rows} rows, ${experiment.failed_rows} of them failed${against}${choice ? `: ${plain(choice)}` : ''}.`,
    [cells(titles), cells(titles.map((_, index) => (index > 1 ? '---:' : '---'))), ...rows.map(cells)].join('\n'),
    [...reasons, ...warnings.map((warning) => `warning: ${warning}`)].map((line) => `- ${plain(line)}`).join('\n'),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** Escapes a name: it is no markup, no cell of its own, and mentions no one. */
const plain = (text: string): string =>
  withoutControlCharacters(text)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\\`*_[\]<>|~#&]/g, '\\$&')
    .replaceAll('@', '@\u200b');
