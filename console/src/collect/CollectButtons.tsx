import { useState } from 'react';
import { addToQueue, createQueue, queuesQuery } from '../data/annotations.ts';
import { copyToDataset, createDataset, datasetsQuery, type OutputColumn } from '../data/datasets.ts';
import { useMay } from '../data/permissions.ts';
import { countOf, type Selection } from '../data/selection.ts';
import { queryClient } from '../data/service.ts';
import { countText } from '../parts/format.ts';
import { say } from '../parts/notice.ts';
import { PickDialog } from '../parts/PickDialog.tsx';
import { useKeys } from '../parts/useKeys.ts';

/** Puts records in an annotation queue or a dataset, by button or by `a q` and `a d`. */
export function CollectButtons({ selection, hasKeys }: { selection: Selection; hasKeys: boolean }) {
  const { projectId } = selection.run;
  const mayQueue = useMay(projectId, 'configure_human_feedback');
  const [open, setOpen] = useState<'queues' | 'datasets'>();
  const [output, setOutput] = useState<OutputColumn>('output');
  const openQueues = () => setOpen('queues');
  const openDatasets = () => setOpen('datasets');
  const onClose = () => setOpen(undefined);
  useKeys(hasKeys ? { ...(mayQueue ? { 'a q': openQueues } : {}), 'a d': openDatasets } : {});
  const queue = async (id: string, name: string) => {
    const added = await addToQueue(id, selection);
    say(
      added === selection.count
        ? `${countOf(selection)} added to ${name}`
        : `${countText(added)} new in ${name}, the others were there`,
    );
    await queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'records' });
  };
  const copy = async (id: string, name: string) => {
    const count = await copyToDataset(id, selection, output);
    say(`${countText(count)} ${count === 1 ? 'row' : 'rows'} added to ${name}`);
  };
  return (
    <>
      {mayQueue && (
        <button type="button" onClick={openQueues}>
          To a queue
        </button>
      )}
      <button type="button" onClick={openDatasets}>
        To a dataset
      </button>
      {open === 'queues' && (
        <PickDialog
          title="Add to an annotation queue"
          query={queuesQuery}
          create={createQueue}
          onPick={queue}
          onClose={onClose}
          detail={(one) => `${countText(one.num_log_records)} records`}
        />
      )}
      {open === 'datasets' && (
        <PickDialog
          title="Add to a dataset"
          query={datasetsQuery}
          create={(name) => createDataset(name, projectId)}
          onPick={copy}
          onClose={onClose}
          detail={(one) => `${countText(one.num_rows)} rows`}
        >
          <label>
            The output becomes{' '}
            <select value={output} onChange={(event) => setOutput(event.target.value as OutputColumn)}>
              <option value="output">the reference answer</option>
              <option value="generated_output">an answer to score</option>
            </select>
          </label>
        </PickDialog>
      )}
    </>
  );
}
