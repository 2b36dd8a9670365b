import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import { Action } from '../../parts/action.js';
import { plain } from '../../parts/format.js';
import { useTitle } from '../../parts/parts.js';
import { Empty } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { type Draft, draftOf, readDraft, useSettled } from './draft.js';
import { Editor } from './editor.js';
import { Effective } from './effective.js';

const FIRST: Draft = draftOf({
  description: '',
  instructions: '',
  tools: [],
  capabilities: [],
  maxIterations: 20,
});

/** A definition that is not registered yet, beside its dry run. */
export function NewDefinition(): ReactNode {
  useTitle('New definition');
  const { api, may } = useCaller();
  const navigate = useNavigate();
  const nameId = useId();
  const [name, setName] = useState('');
  const [draft, setDraft] = useState(FIRST);
  const read = readDraft(draft);
  const settled = useSettled({ name, content: read.content });
  const isNamed = name.trim() !== '';
  if (!may('definitions:write')) return <Empty>Only operators may register a definition.</Empty>;
  return (
    <>
      <div className="buttons">
        <Link to="/definitions" className="text-link muted">
          ← Definitions
        </Link>
        <span className="space" />
        {read.content && (
          <Action
            label="Register…"
            tone="primary"
            title={`Register ${plain(name)}?`}
            verb="Register the definition"
            hasNote={false}
            disabled={!isNamed}
            request={() => ({ method: 'POST', path: '/v1/definitions', body: { name, content: read.content } })}
            run={async (_note, idempotencyKey) => {
              await api.definitions.register({ name, content: read.content }, { idempotencyKey });
              await navigate({ to: '/definitions/$name', params: { name } });
            }}
          >
            <p>Runs can use it from now on, as the agent {plain(name)}. “Remove” undoes it; its revisions are kept.</p>
          </Action>
        )}
      </div>
      <div className="grid editing">
        <section className="card">
          <h2>Definition</h2>
          <div className="padded editor name">
            <label htmlFor={nameId}>
              Name
              <small>letters, digits and _ . : -; it becomes the agentId</small>
              <input
                id={nameId}
                className="field mono"
                value={name}
                maxLength={128}
                spellCheck={false}
                autoComplete="off"
                onChange={({ target }) => setName(target.value.trim())}
              />
            </label>
          </div>
          <Editor draft={draft} isReadOnly={false} onChange={setDraft} />
          {read.fault !== undefined && (
            <p className="problem" role="alert">
              {read.fault}
            </p>
          )}
        </section>
        {settled.content !== undefined && settled.name !== '' ? (
          <Effective name={settled.name} draft={settled.content} />
        ) : (
          <section className="card">
            <h2>What it would use</h2>
            <Empty>A name and a description begin the dry run: the model, tools, limits and budgets appear here.</Empty>
          </section>
        )}
      </div>
    </>
  );
}
