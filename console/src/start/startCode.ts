import type { StartOptions } from './startPlan.ts';

/** Where it is run. */
export interface Place {
  /** Address of the service. */
  api: string;
  projectId: string;
}

/** The run as a program in TypeScript. */
export const clientCode = (options: StartOptions, { api, projectId }: Place): string =>
  `import { runExperiment } from '@assay/client';

const { link } = await runExperiment(${literal({
    client: { apiUrl: api, apiKey: new Code('process.env.SERVICE_API_KEY') },
    projectId,
    resume: false,
    ...options,
  })});
console.log(link);
`;

/** The same as lines of a shell: an experiment file, and the command that runs it. */
export function commandLines(options: StartOptions, { api, projectId }: Place): string {
  const file = `${fileName(options.experimentName)}.mts`; // a module whatever the package around it says
  return `cat > ${file} <<'END_OF_EXPERIMENT'
import { defineExperiment } from '@assay/client';

export default defineExperiment(${literal(options)});
END_OF_EXPERIMENT
assay run ${file} --fresh --api-url ${quoted(api)} --project-id ${projectId}
`;
}

const fileName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40) || 'experiment';

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** An expression that is no literal. */
class Code {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value as TypeScript writes it: objects over several lines, lists of plain values on one. */
function literal(value: unknown, indent = ''): string {
  if (value instanceof Code) return value.text;
  if (Array.isArray(value)) {
    if (value.some((one) => typeof one === 'object' && one !== null))
      return `[${value.map((one) => literal(one, indent)).join(', ')}]`;
    return `[${value.map((one) => JSON.stringify(one)).join(', ')}]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (members.length === 0) return '{}';
  return `{\n${members
    .map(([key, member]) => `${inner}${/^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key)}: ${literal(member, inner)},\n`)
    .join('')}${indent}}`;
}
