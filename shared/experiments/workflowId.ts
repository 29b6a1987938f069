import type { ExperimentRun } from './experiment.ts';

/** Characters of a workflow id: a list shows it whole, and Temporal takes up to 1,000. */
const MAX_CHARACTERS = 200;

/**
 * The id of a run's workflow, by which people find it in Temporal's own pages: `project/experiment/<experiment id>/<number>`. In the names all but
 * letters, digits, dots, dashes and underscores becomes a dash; long names are cut. It is made when the run is requested and kept, since
 * names may change.
 */
export function newWorkflowId(run: Pick<ExperimentRun, 'projectName' | 'name' | 'experimentId'>, number: number): string {
  const end = `/${run.experimentId}/${number}`;
  const [project, experiment] = [run.projectName, run.name].map(escaped) as [string[], string[]];
  const available = MAX_CHARACTERS - end.length - 1;
  // A short name leaves its available to the other.
  const forProject = Math.min(project.length, Math.max(Math.floor(available / 2), available - experiment.length));
  const text = (characters: string[], length: number) => characters.slice(0, length).join('');
  return `${text(project, forProject)}/${text(experiment, available - forProject)}${end}`;
}

const escaped = (name: string): string[] => [...name.replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')];
