import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Terminal } from './terminal.ts';

const run = promisify(execFile);

/** The longest text that a tag may have. */
const LONGEST_TAG = 256;
const variables = {
  commit: [
    'GITHUB_SHA',
    'CI_COMMIT_SHA',
    'CIRCLE_SHA1',
    'BUILDKITE_COMMIT',
    'BITBUCKET_COMMIT',
    'BUILD_SOURCEVERSION',
    'GIT_COMMIT',
  ],
  // Of a pull request its own branch comes first: what CI has checked out is a merge of no name.
  branch: [
    ...['GITHUB_HEAD_REF', 'CI_MERGE_REQUEST_SOURCE_BRANCH_NAME', 'SYSTEM_PULLREQUEST_SOURCEBRANCH', 'GITHUB_REF_NAME'],
    ...['CI_COMMIT_REF_NAME', 'CIRCLE_BRANCH', 'BUILDKITE_BRANCH', 'BITBUCKET_BRANCH', 'BUILD_SOURCEBRANCHNAME', 'GIT_BRANCH'],
  ],
  build: ['CI_JOB_URL', 'CIRCLE_BUILD_URL', 'BUILDKITE_BUILD_URL', 'BUILD_URL'],
};

/** Which code ran, and where: `commit`, `branch`, `dirty` and `build`, as far as git and the variables of CI systems tell. */
export async function buildTags({
  environment,
  folder,
}: Pick<Terminal, 'environment' | 'folder'>): Promise<Record<string, string>> {
  const first = (names: readonly string[]) => names.map((name) => environment[name]).find(Boolean);
  const [head, branch, changes] = await Promise.all([
    git(folder, 'rev-parse', 'HEAD'),
    git(folder, 'rev-parse', '--abbrev-ref', 'HEAD'),
    git(folder, 'status', '--porcelain'),
  ]);
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID } = environment;
  const ofGitHub = GITHUB_RUN_ID && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}`;
  const found = {
    commit: first(variables.commit) ?? head,
    branch: first(variables.branch) ?? (branch === 'HEAD' ? undefined : branch),
    dirty: changes === undefined ? undefined : String(changes !== ''),
    build: ofGitHub || first(variables.build),
  };
  return Object.fromEntries(Object.entries(found).flatMap(([key, value]) => (value ? [[key, value.slice(0, LONGEST_TAG)]] : [])));
}

/** Undefined where this is no checkout, or there is no git. */
const git = async (folder: string, ...words: string[]): Promise<string | undefined> =>
  run('git', words, { cwd: folder, timeout: 5_000, maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
