import { processVariables } from './environment.ts';

/** The part of Node.js that is used, where it exists. */
interface Runtime {
  process?: { getBuiltinModule?(name: string): { execFile: Execute } | undefined };
}
type Execute = (
  file: string,
  words: string[],
  options: { timeout: number; maxBuffer: number },
  done: (error: unknown, stdout: string) => void,
) => void;

const runtime = globalThis as Runtime;

/** The longest text that a tag may have. */
const LONGEST_TAG = 256;

/** Variables of CI systems. Of a pull request its own branch comes first: what CI has checked out is a merge of no name. */
const variables = {
  commit: 'GITHUB_SHA CI_COMMIT_SHA CIRCLE_SHA1 BUILDKITE_COMMIT GIT_COMMIT',
  branch:
    'GITHUB_HEAD_REF CI_MERGE_REQUEST_SOURCE_BRANCH_NAME GITHUB_REF_NAME CI_COMMIT_REF_NAME CIRCLE_BRANCH BUILDKITE_BRANCH GIT_BRANCH',
  build: 'CI_JOB_URL CIRCLE_BUILD_URL BUILDKITE_BUILD_URL BUILD_URL',
};

/** Which code runs, and where: `commit`, `branch`, `dirty` and `build`, as far as git and the variables of CI systems have them. Never rejects. */
export async function buildTags(): Promise<Record<string, string>> {
  const environment = processVariables();
  const first = (names: string) =>
    names
      .split(' ')
      .map((name) => environment[name])
      .find(Boolean);
  const [head, branch, changes] = await Promise.all([
    git('rev-parse HEAD'),
    git('rev-parse --abbrev-ref HEAD'),
    git('--no-optional-locks status --porcelain'),
  ]);
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID } = environment;
  const found = {
    commit: first(variables.commit) ?? head,
    branch: first(variables.branch) ?? (branch === 'HEAD' ? undefined : branch),
    dirty: changes === undefined ? undefined : String(changes !== ''),
    build: GITHUB_RUN_ID ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}` : first(variables.build),
  };
  return Object.fromEntries(Object.entries(found).flatMap(([key, value]) => (value ? [[key, value.slice(0, LONGEST_TAG)]] : [])));
}

/** Undefined where this is no checkout, or there is no git, or no such thing as a process. */
const git = (words: string): Promise<string | undefined> =>
  new Promise<string | undefined>((resolve) => {
    const processes = runtime.process?.getBuiltinModule?.('node:child_process');
    if (!processes) return resolve(undefined);
    processes.execFile('git', words.split(' '), { timeout: 5_000, maxBuffer: 2 ** 26 }, (err, stdout) =>
      resolve(err ? undefined : stdout.trim()),
    );
  }).catch(() => undefined);
