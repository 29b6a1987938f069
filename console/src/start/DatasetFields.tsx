import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { versionsQuery } from '../data/datasetRows.ts';
import { datasetListQuery } from '../data/datasets.ts';
import { countText } from '../parts/format.ts';
import { LabelledField, NumberField, TextField } from './Field.tsx';
import styles from './StartPage.module.css';
import type { RowChoice } from './startDraft.ts';
import { useStartForm } from './startForm.ts';

/** Datasets that the field lists. */
const LISTED = 100;

const rowChoices: Record<Exclude<RowChoice, 'same'>, string> = {
  all: 'All rows',
  first: 'The first',
  range: 'From one to another',
  sample: 'A random sample',
  filter: 'Those with a text in a column',
};

/** Lets the reader choose the rows that run, and how often. */
export function DatasetFields() {
  const { draft, change, chosen, projectId } = useStartForm();
  const { dataset } = chosen;
  const { data: listed } = useQuery(datasetListQuery({ projectId: undefined, name: '', sort: '-updated_at', limit: LISTED }));
  const { data: ofProject } = useQuery(datasetListQuery({ projectId, name: '', sort: '-updated_at', limit: LISTED }));
  const { ids, options } = useMemo(() => optionsOf(ofProject?.items ?? [], listed?.items ?? []), [ofProject, listed]);
  const noDataset = (
    <>
      There is no dataset yet:{' '}
      <Link to="/p/$projectId/datasets" params={{ projectId }} search={{}}>
        make one
      </Link>
      .
    </>
  );
  return (
    <fieldset className={styles.section}>
      <legend>Rows</legend>
      <div className={styles.pair}>
        <LabelledField
          label="Dataset"
          field="dataset"
          hint={
            listed?.hasMore
              ? `The ${LISTED} changed last. Of any other, open its page and choose Run on this dataset.`
              : listed && ofProject && ids.size === 0
                ? noDataset
                : undefined
          }
        >
          {(control) => (
            <select
              {...control}
              value={draft.dataset}
              onChange={(event) => change({ dataset: event.target.value, datasetVersion: '' })}
            >
              <option value="">Choose a dataset</option>
              {draft.dataset !== '' && !ids.has(draft.dataset) && (
                <option value={draft.dataset}>{dataset?.name ?? 'a dataset that is not there'}</option>
              )}
              {options}
            </select>
          )}
        </LabelledField>
        {dataset && <DatasetVersionField key={dataset.id} />}
      </div>
      <div className={styles.pair}>
        <LabelledField label="Which rows" field="rows">
          {(control) => (
            <select {...control} value={draft.rows} onChange={(event) => change({ rows: event.target.value as RowChoice })}>
              {Object.entries(rowChoices).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
              {draft.sameAs !== '' && <option value="same">Those of the experiment that is run again</option>}
            </select>
          )}
        </LabelledField>
        <RowFields />
        <NumberField label="Trials of each row" field="trials" min={1} max={100} />
      </div>
    </fieldset>
  );
}

interface Listed {
  id: string;
  name: string;
  num_rows: number | null;
}

/** Returns the datasets of the project and all others as options. They are made once for an answer: each letter in the form fills it anew. */
function optionsOf(own: readonly Listed[], listed: readonly Listed[]) {
  const ids = new Set(own.map(({ id }) => id));
  const others = listed.filter(({ id }) => !ids.has(id));
  for (const { id } of others) ids.add(id);
  const option = ({ id, name, num_rows: rows }: Listed) => (
    <option key={id} value={id}>
      {name} ({countText(rows)} rows)
    </option>
  );
  const options = (
    <>
      {own.length > 0 && <optgroup label="Used in this project">{own.map(option)}</optgroup>}
      {others.length > 0 && <optgroup label="Others">{others.map(option)}</optgroup>}
    </>
  );
  return { ids, options };
}

function DatasetVersionField() {
  const { draft, change, chosen } = useStartForm();
  const { data } = useInfiniteQuery(versionsQuery(draft.dataset));
  const current = chosen.dataset?.current_version_index;
  const versions = data?.pages.flatMap((page) => page.versions.map(({ version_index: index }) => index)) ?? [];
  const shown = draft.datasetVersion === '' ? versions : [...new Set([Number(draft.datasetVersion), ...versions])];
  return (
    <LabelledField label="Version of the dataset" field="datasetVersion">
      {(control) => (
        <select {...control} value={draft.datasetVersion} onChange={(event) => change({ datasetVersion: event.target.value })}>
          <option value="">The current one, {current}</option>
          {shown.map((index) => (
            <option key={index} value={index}>
              Version {index}
            </option>
          ))}
        </select>
      )}
    </LabelledField>
  );
}

function RowFields() {
  const { draft, change, chosen } = useStartForm();
  switch (draft.rows) {
    case 'first':
      return <NumberField label="How many" field="first" min={1} />;
    case 'range':
      return (
        <>
          <NumberField label="First row, from 0" field="from" />
          <NumberField label="Last row" field="to" />
        </>
      );
    case 'sample':
      return (
        <>
          <NumberField label="How many" field="sample" min={1} />
          <NumberField label="Seed" field="seed" hint="The same seed draws the same rows." />
        </>
      );
    case 'filter':
      return (
        <>
          <LabelledField label="Column" field="column">
            {(control) => (
              <select {...control} value={draft.column} onChange={(event) => change({ column: event.target.value })}>
                {[...new Set([...(chosen.dataset?.column_names ?? []), draft.column])].map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
          </LabelledField>
          <LabelledField label="Compared" field="operator">
            {(control) => (
              <select
                {...control}
                value={draft.operator}
                onChange={(event) => change({ operator: event.target.value as typeof draft.operator })}
              >
                <option value="contains">contains</option>
                <option value="eq">is</option>
                <option value="ne">is not</option>
              </select>
            )}
          </LabelledField>
          <TextField label="Text" field="value" />
        </>
      );
    default:
      return null;
  }
}
