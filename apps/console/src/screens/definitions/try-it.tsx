import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import { Action } from '../../parts/action.js';
import { plain } from '../../parts/format.js';
import { useCaller } from '../../session/session.js';

/** Starts a run of the current revision, and opens its page. */
export function TryIt({ definition }: { definition: string }): ReactNode {
  const { api } = useCaller();
  const navigate = useNavigate();
  const inputId = useId();
  const [input, setInput] = useState('');
  const body = { definition, input };
  return (
    <Action
      label="Try…"
      tone="primary"
      title={`Try ${plain(definition)}`}
      verb="Start the run"
      hasNote={false}
      request={() => ({ method: 'POST', path: '/v1/runs', body })}
      run={async (_note, idempotencyKey) => {
        const { id } = await api.runs.start(body, { idempotencyKey });
        await navigate({ to: '/runs/$runId', params: { runId: id } });
      }}
    >
      <p>A run of the published revision begins, and its page opens. It is charged like any other run.</p>
      <label htmlFor={inputId}>
        Input
        <textarea
          id={inputId}
          className="field"
          rows={4}
          value={input}
          onChange={({ target }) => setInput(target.value)}
        />
      </label>
    </Action>
  );
}
