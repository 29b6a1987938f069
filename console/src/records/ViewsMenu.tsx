import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, memo, useRef, useState } from 'react';
import { deleteViewLater, useDeletions } from '../data/deletions.ts';
import { useMay } from '../data/permissions.ts';
import type { Column } from '../data/records.ts';
import { type SavedView, saveView, viewsQuery } from '../data/savedViews.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { Icon } from '../parts/Icon.tsx';
import { say } from '../parts/notice.ts';
import { useTextOver } from '../parts/useDraft.ts';
import styles from './RecordsPage.module.css';
import { useRecordsAddress } from './useRecordsView.ts';
import { addressOf, canBeWritten, contentOf, isShowing } from './viewContent.ts';

/** Saved views of the project: opens one, and keeps what the page shows as one. */
export const ViewsMenu = memo(function ViewsMenu({ projectId, catalog }: { projectId: string; catalog: readonly Column[] }) {
  const [address, change] = useRecordsAddress();
  const { data, error } = useQuery(viewsQuery(projectId));
  const going = useDeletions().filter(({ state }) => state !== 'failed');
  const views = data?.filter(({ id }) => !going.some(({ hidden }) => hidden.includes(id))) ?? [];
  const menu = useRef<HTMLDivElement>(null);
  const [unwritten, setUnwritten] = useState<string>();
  const current = views.find(({ id }) => id === address.view);
  const isChanged = current !== undefined && !isShowing(current, address, catalog);
  const open = (view: SavedView) => {
    setUnwritten(undefined);
    if (!canBeWritten(view, catalog)) return setUnwritten(view.name);
    menu.current?.hidePopover();
    change({ ...addressOf(view), view: view.id, open: undefined });
  };
  const remove = (view: SavedView) => {
    menu.current?.hidePopover();
    deleteViewLater(view);
  };
  return (
    <>
      <button type="button" popoverTarget="views" className="iconed">
        <Icon name="view" />
        <span className="only-read">Saved view: </span>
        <span className={`one-line ${styles.viewName}`}>{current ? current.name : 'Views'}</span>
        {isChanged && <span className="quiet">changed</span>}
      </button>
      <div ref={menu} popover="auto" id="views" className={`menu ${styles.columns}`}>
        {error && <ErrorNote error={error} />}
        {data && views.length === 0 && <p className="quiet">No view is saved in this project yet.</p>}
        {address.view !== undefined && data && !current && (
          <p className="quiet">The view of this link was deleted, or is not yours to see. What it showed is here.</p>
        )}
        {unwritten !== undefined && (
          <p role="alert" className="bad">
            The filter of “{unwritten}” cannot be written in the filter bar: search with it by the API.
          </p>
        )}
        {views.map((view) => (
          <button key={view.id} type="button" className="plain item" aria-pressed={view === current} onClick={() => open(view)}>
            <span className="one-line">{view.name}</span>
            <span className="quiet">{view.is_shared ? 'shared' : 'yours'}</span>
          </button>
        ))}
        <SaveForm
          key={current?.id}
          {...{ projectId, catalog, current }}
          onSaved={({ id }) => {
            menu.current?.hidePopover();
            change({ view: id }, { replace: true });
          }}
        />
        {current && isAllowed(current, 'delete') && (
          <button type="button" className="bad" onClick={() => remove(current)}>
            Delete “{current.name}”
          </button>
        )}
      </div>
    </>
  );
});

const isAllowed = ({ permissions }: SavedView, action: 'update' | 'delete'): boolean =>
  permissions.some((one) => one.action === action && one.allowed);

interface SaveFormProps {
  projectId: string;
  catalog: readonly Column[];
  current: SavedView | undefined;
  onSaved(view: SavedView): void;
}

/** Keeps kind, filter, times, columns and order of the page under a name: as a new view, or in place of the one that is open. */
function SaveForm({ projectId, catalog, current, onSaved }: SaveFormProps) {
  const [address] = useRecordsAddress();
  const mayShare = useMay(projectId, 'update');
  const [name, setName] = useTextOver(`view of ${projectId} ${current?.id ?? ''}`, current?.name ?? '');
  const saving = useMutation({
    mutationFn: ({ name, isShared, viewId }: { name: string; isShared: boolean; viewId: string | undefined }) =>
      saveView(projectId, { name, is_shared: isShared, ...contentOf(address, catalog) }, viewId),
    onSuccess: (view) => {
      say(`The view “${view.name}” is saved.`);
      setName(current?.name ?? '');
      onSaved(view);
    },
  });
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { submitter } = event.nativeEvent as SubmitEvent;
    const fields = new FormData(event.currentTarget);
    const isNew = submitter?.getAttribute('value') === 'new';
    saving.mutate({
      name: String(fields.get('name')).trim(),
      isShared: mayShare ? fields.get('shared') === 'on' : false,
      viewId: isNew ? undefined : current?.id,
    });
  };
  const mayUpdate = current !== undefined && isAllowed(current, 'update');
  return (
    <form className={styles.saveView} onSubmit={send}>
      <label>
        Name
        <input
          name="name"
          required
          maxLength={255}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      {mayShare && (
        <label className={styles.check}>
          <input type="checkbox" name="shared" defaultChecked={current?.is_shared} />
          Shared with all who see the project
        </label>
      )}
      {saving.error && <ErrorNote error={saving.error} />}
      {mayUpdate && (
        <button type="submit" value="change" disabled={saving.isPending}>
          Save the changes
        </button>
      )}
      <button type="submit" value="new" disabled={saving.isPending}>
        Save as a new view
      </button>
    </form>
  );
}
