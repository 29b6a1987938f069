import type { GateResult } from '../../client/index.ts';
import { gateWords } from './gateWords.ts';

/** A test case for each check. One that the rows do not decide is a failure, too, of another type: JUnit knows nothing between. */
export function gateJunit({ experiment, baseline, baseline_choice: choice, checks, warnings }: GateResult): string {
  const failures = checks.filter(({ status }) => status !== 'passed').length;
  const counts = `tests="${checks.length}" failures="${failures}" errors="0" skipped="0"`;
  const name = quotedXml(experiment.name);
  const cases = checks.map(({ rule, metric, status, reason }) => {
    const start = `    <testcase classname=${name} name=${quotedXml(metric === null ? rule : `${rule} ${metric}`)}`;
    if (status === 'passed') return `${start}/>`;
    return `${start}>\n      <failure type=${quotedXml(gateWords[status])} message=${quotedXml(reason)}/>\n    </testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="assay gate" ${counts}>`,
    `  <testsuite name=${name} ${counts}>`,
    ...(baseline && choice
      ? [
          '    <properties>',
          `      <property name="baseline" value=${quotedXml(baseline.name)}/>`,
          `      <property name="baseline choice" value=${quotedXml(choice)}/>`,
          '    </properties>',
        ]
      : []),
    ...cases,
    ...(warnings.length > 0
      ? [`    <system-out>${inXml(warnings.map((warning) => `warning: ${warning}`).join('\n'))}</system-out>`]
      : []),
    '  </testsuite>',
    '</testsuites>',
  ].join('\n');
}

/** As the value of an attribute. What XML cannot hold, such as control characters, is left out. */
const quotedXml = (text: string): string => `"${inXml(text)}"`;

const inXml = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll(/[&<>"\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
