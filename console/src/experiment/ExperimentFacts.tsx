import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Experiment } from '../data/experiments.ts';
import { lineText } from '../parts/format.ts';
import { Time } from '../parts/Time.tsx';
import styles from './ExperimentPage.module.css';

/** Where an experiment comes from, on one line. What it does not have is left out. */
export function ExperimentFacts({ experiment }: { experiment: Experiment }) {
  const { dataset, prompt, prompt_model: model, experiment_group_name: group, created_by_user: user } = experiment;
  const tags = Object.values(experiment.tags).flat();
  const facts: [string, ReactNode][] = [['Group', lineText(group, 200)]];
  const project = experiment.project_id;
  if (dataset)
    facts.push([
      'Dataset',
      <Link
        key="dataset"
        to="/datasets/$datasetId"
        params={{ datasetId: dataset.dataset_id }}
        search={{ project, version: dataset.version_index }}
      >
        {lineText(dataset.name ?? dataset.dataset_id, 200)}, version {dataset.version_index}
      </Link>,
    ]);
  if (prompt)
    facts.push([
      'Prompt',
      <Link
        key="prompt"
        to="/prompts/$promptId"
        params={{ promptId: prompt.prompt_template_id }}
        search={{ project, version: prompt.version_index }}
      >
        {lineText(prompt.name, 200)}, version {prompt.version_index}
      </Link>,
    ]);
  if (model) facts.push(['Model', lineText(model, 200)]);
  facts.push(['Created', <Time key="time" at={experiment.created_at} />]);
  if (user) facts.push(['By', lineText(user.email, 200)]);
  for (const { key, value } of tags) facts.push([lineText(key, 100), lineText(value, 200)]);
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a key of tags may come twice
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
