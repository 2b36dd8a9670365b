import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Lock } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { DefinitionView } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, plain } from '../../parts/format.js';
import { Ago, Stat, Tag, useTitle } from '../../parts/parts.js';
import { Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { Changes } from './changes.js';
import { changesBetween, isEditable, ORIGINS } from './definition-words.js';
import { type Draft, draftOf, readDraft, useSettled } from './draft.js';
import { Editor } from './editor.js';
import { Effective } from './effective.js';
import { LiveAgents, Spawn, useLiveAgents } from './live-agents.js';
import { RevisionDiff, Revisions } from './revisions.js';

/** One definition: the editor beside its dry run, its revisions, and its live agents. */
export function Definition(): ReactNode {
  const { name } = useParams({ from: '/definitions/$name' });
  useTitle(plain(name));
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['definition', name],
    queryFn: async ({ signal }) => await api.definitions.get(name, { signal }),
  });
  return <Loaded query={query}>{(current) => <Editing key={current.name} current={current} />}</Loaded>;
}

/** A change that is not published, and the revision on which it is based. */
interface Edited {
  readonly base: DefinitionView;
  readonly draft: Draft;
}

function Editing({ current }: { current: DefinitionView }): ReactNode {
  const { api, may } = useCaller();
  const { from, to } = useSearch({ from: '/definitions/$name' });
  const [edited, setEdited] = useState<Edited>();
  const { name, revision } = current;
  const isReadOnly = !isEditable(current) || !may('definitions:write');
  const base = edited?.base ?? current;
  const draft = edited?.draft ?? draftOf(current.content);
  const read = readDraft(draft);
  const changes = read.content ? changesBetween(base.content, read.content) : [];
  const isChanged = edited !== undefined && (read.fault !== undefined || changes.length > 0);
  const settled = useSettled(isChanged ? read.content : undefined);
  const restore = async (number: number): Promise<void> => {
    const { content } = await api.definitions.getRevision(name, number);
    setEdited({ base: current, draft: draftOf(content) });
  };
  return (
    <>
      <Operations definition={current} />
      <Numbers definition={current} />
      {!isEditable(current) && (
        <p className="card notice locked">
          <Lock size={16} aria-hidden="true" />
          <span>
            <b>Read-only.</b> {plain(name)} {ORIGINS[current.source].text}.
          </span>
        </p>
      )}
      <div className="grid editing">
        <div className="grid">
          <section className="card">
            <header>
              <h2>Definition</h2>
              <small>{isChanged ? `draft, based on revision ${base.revision}` : `revision ${revision}`}</small>
              <span className="space" />
              {isChanged && (
                <button className="button quiet" type="button" onClick={() => setEdited(undefined)}>
                  Discard
                </button>
              )}
              {isChanged && read.content && (
                <Action
                  label="Publish…"
                  tone="primary"
                  title={`Publish revision ${revision + 1} of ${plain(name)}?`}
                  verb="Publish"
                  hasNote={false}
                  request={() => ({ method: 'PUT', path: pathOf(name), body: { content: read.content } })}
                  run={async (_note, idempotencyKey) => {
                    const options = { idempotencyKey, ifMatch: `"${base.revision}"` };
                    await api.definitions.replace(name, { content: read.content }, options);
                    setEdited(undefined);
                  }}
                >
                  <p>
                    {count(changes.length)} {changes.length === 1 ? 'field changes' : 'fields change'}. New runs use the
                    new revision; runs in progress finish with the old one. To undo it, restore revision {base.revision}
                    .
                  </p>
                  <Changes changes={changes} />
                </Action>
              )}
            </header>
            {isChanged && base.revision !== revision && (
              <p className="problem" role="status">
                Revision {revision} was published meanwhile, so your draft cannot be published. Discard it, or copy what
                you need.
              </p>
            )}
            <Editor draft={draft} isReadOnly={isReadOnly} onChange={(next) => setEdited({ base, draft: next })} />
            {read.fault !== undefined && (
              <p className="problem" role="alert">
                {read.fault}
              </p>
            )}
          </section>
        </div>
        <div className="grid">
          <Effective name={name} draft={settled} />
          {isChanged && changes.length > 0 && (
            <section className="card">
              <header>
                <h2>Changes</h2>
                <small>of your draft</small>
              </header>
              <Changes changes={changes} />
            </section>
          )}
          <LiveAgents definition={name} />
        </div>
      </div>
      {from !== undefined && to !== undefined && <RevisionDiff name={name} from={from} to={to} />}
      <Revisions name={name} current={revision} onRestore={isReadOnly ? undefined : restore} />
    </>
  );
}

function pathOf(name: string): string {
  return `/v1/definitions/${encodeURIComponent(name)}`;
}

function Operations({ definition }: { definition: DefinitionView }): ReactNode {
  const { api, may } = useCaller();
  const navigate = useNavigate();
  const { name } = definition;
  return (
    <div className="buttons">
      <Link to="/definitions" className="text-link muted">
        ← Definitions
      </Link>
      <span className="space" />
      {may('runs:start') && (
        <Link to="/try" search={{ definition: name }} className="button primary">
          Try it
        </Link>
      )}
      {may('agents:spawn') && <Spawn definition={name} />}
      {may('definitions:write') && isEditable(definition) && (
        <Action
          label="Remove…"
          tone="danger"
          title={`Remove ${plain(name)}?`}
          verb="Remove the definition"
          hasNote={false}
          request={() => ({ method: 'DELETE', path: pathOf(name) })}
          run={async (_note, idempotencyKey) => {
            await api.definitions.unregister(name, { idempotencyKey });
            await navigate({ to: '/definitions' });
          }}
        >
          <p>
            New runs cannot use it. Its revisions are kept, so the same name can be registered again and continues their
            numbers.
          </p>
        </Action>
      )}
    </div>
  );
}

function Numbers({ definition }: { definition: DefinitionView }): ReactNode {
  const { source, revision, createdAt, createdBy, hash, name } = definition;
  const agents = useLiveAgents(name);
  const busy = agents.data?.filter(({ state }) => state === 'busy').length ?? 0;
  return (
    <div className="grid four">
      <Stat
        label="Origin"
        value={<Tag tone={ORIGINS[source].tone}>{ORIGINS[source].word}</Tag>}
        detail={isEditable(definition) ? 'can be edited here' : 'read-only here'}
      />
      <Stat label="Revision" value={count(revision)} detail={<span title={hash}>hash {hash.slice(0, 12)}</span>} />
      <Stat
        label="Changed"
        value={
          <>
            <Ago at={createdAt} />
          </>
        }
        detail={`by ${plain(createdBy)}`}
      />
      <Stat label="Live agents" value={count(agents.data?.length ?? 0)} detail={`${count(busy)} busy`} />
    </div>
  );
}
