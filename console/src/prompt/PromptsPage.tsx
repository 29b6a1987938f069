import { linkOptions, useNavigate } from '@tanstack/react-router';
import { useMay } from '../data/permissions.ts';
import { createPrompt, type Prompt, promptListQuery } from '../data/prompts.ts';
import { type AssetColumn, AssetList } from '../parts/AssetList.tsx';
import styles from '../parts/ListPage.module.css';
import { NewNamed } from '../parts/NewNamed.tsx';
import { useDraft } from '../parts/useDraft.ts';
import { usePromptsAddress } from './usePromptAddress.ts';

const columns: AssetColumn<Prompt>[] = [
  {
    label: 'Version',
    className: 'number',
    cell: ({ selected_version: { version }, total_versions }) => (
      <>
        {version}
        {total_versions > 1 && <span className="quiet"> of {total_versions}</span>}
      </>
    ),
  },
  {
    label: 'Model',
    className: `quiet ${styles.wide}`,
    cell: ({ selected_version: { settings } }) => String(settings.model_alias ?? '–'),
  },
];

const pageOf = (promptId: string, projectId: string) =>
  linkOptions({ to: '/prompts/$promptId', params: { promptId }, search: { project: projectId } });

/** The prompts of a project and those that it uses. */
export function PromptsPage() {
  const { projectId, address, change } = usePromptsAddress();
  const mayMake = useMay(projectId, 'update');
  return (
    <AssetList
      title="Prompts"
      noun="prompt"
      query={promptListQuery}
      {...{ projectId, address, columns, pageOf }}
      onChange={change}
      actions={mayMake && <NewPrompt projectId={projectId} />}
      lesson={
        <p>
          A prompt is text with variables in double braces, as in <code>{'What is {{input}}?'}</code>. An experiment fills it in
          for each row of a dataset; each change is a new version.
        </p>
      }
    />
  );
}

function NewPrompt({ projectId }: { projectId: string }) {
  const [text = '', setText] = useDraft<string>(`new prompt ${projectId}`);
  const navigate = useNavigate();
  const make = async (name: string) => {
    const promptId = await createPrompt(name, { template: [{ role: 'user', content: text }] }, projectId);
    setText(undefined);
    await navigate({ to: '/prompts/$promptId', params: { promptId }, search: { project: projectId } });
  };
  return (
    <NewNamed title="New prompt" onName={make}>
      <label>
        What the model is asked
        <textarea
          rows={6}
          required
          value={text}
          placeholder="What is {{input}}?"
          onChange={(event) => setText(event.target.value)}
        />
      </label>
    </NewNamed>
  );
}
