import { type ReactNode, useId, useState } from 'react';
import type { SinkList, WebhookView } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, plain } from '../../parts/format.js';
import { useCaller } from '../../session/session.js';
import type { NewSecret } from './sinks.js';

type Sink = SinkList['items'][number];

interface SecretProps {
  onSecret: (secret: NewSecret) => void;
}

function nameOf({ description, url }: WebhookView): string {
  return plain(description ?? url);
}

export function CreateWebhook({ onSecret }: SecretProps): ReactNode {
  const { api } = useCaller();
  const [urlId, purposeId, typesId] = [useId(), useId(), useId()];
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const [types, setTypes] = useState('');
  const chosen = types
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '');
  const body = { url, ...(description !== '' && { description }), ...(chosen.length > 0 && { types: chosen }) };
  return (
    <Action
      label="Create a webhook…"
      title="Create a webhook"
      verb="Create"
      hasNote={false}
      request={() => ({ method: 'POST', path: '/v1/webhooks', body })}
      run={async (_note, idempotencyKey) => {
        const { secret } = await api.webhooks.create(body, { idempotencyKey });
        onSecret({ title: 'The secret that signs its deliveries.', secret });
      }}
    >
      <p>The next events are posted to this address. “Delete” undoes it.</p>
      <label htmlFor={urlId}>
        Address
        <input
          id={urlId}
          className="field mono"
          value={url}
          placeholder="https://hooks.example.com/rollcall"
          autoComplete="off"
          onChange={({ target }) => setUrl(target.value.trim())}
        />
      </label>
      <label htmlFor={purposeId}>
        What it is for
        <input
          id={purposeId}
          className="field"
          value={description}
          maxLength={200}
          onChange={({ target }) => setDescription(target.value)}
        />
      </label>
      <label htmlFor={typesId}>
        Only these types, separated by commas; empty for all
        <input
          id={typesId}
          className="field mono"
          value={types}
          placeholder="agent.*, circuit.opened"
          autoComplete="off"
          onChange={({ target }) => setTypes(target.value)}
        />
      </label>
    </Action>
  );
}

/** Sends events again: those that failed, or all after a sequence. */
export function Replay({ sink }: { sink: Sink }): ReactNode {
  const { api } = useCaller();
  const afterId = useId();
  const [after, setAfter] = useState('');
  const { id, kind, parked, cursor } = sink;
  const isParked = kind === 'webhook' && after === '';
  const body = isParked ? {} : { after: after === '' ? cursor : after };
  const path = kind === 'webhook' ? `/v1/webhooks/${id}/replay` : `/v1/sinks/${id}/replay`;
  return (
    <Action
      label="Replay…"
      title={kind === 'webhook' ? 'Deliver events again?' : 'Continue NATS from a sequence?'}
      verb="Replay"
      hasNote={false}
      request={() => ({ method: 'POST', path, body })}
      run={async (_note, idempotencyKey) => {
        if (kind === 'webhook') await api.webhooks.replay(id, body, { idempotencyKey });
        else await api.sinks.replay(id, { after: body.after ?? cursor }, { idempotencyKey });
      }}
    >
      <p>
        {isParked
          ? `The ${count(parked)} parked events are delivered again, each once.`
          : 'All events after this sequence are delivered again, in order. A later sequence than the present one skips events.'}{' '}
        Receivers recognize a repeated event by its id.
      </p>
      <label htmlFor={afterId}>
        After this sequence{kind === 'webhook' && '; empty: only the parked events'}
        <input
          id={afterId}
          className="field mono"
          inputMode="numeric"
          value={after}
          placeholder={kind === 'webhook' ? '' : cursor}
          autoComplete="off"
          onChange={({ target }) => setAfter(target.value.trim())}
        />
      </label>
    </Action>
  );
}

export function PauseWebhook({ webhook }: { webhook: WebhookView }): ReactNode {
  const { api } = useCaller();
  const { id, status } = webhook;
  const isPaused = status.state === 'paused';
  const body = { paused: !isPaused };
  return (
    <Action
      label={isPaused ? 'Resume…' : 'Pause…'}
      title={`${isPaused ? 'Resume' : 'Pause'} ${nameOf(webhook)}?`}
      verb={isPaused ? 'Resume' : 'Pause'}
      hasNote={false}
      request={() => ({ method: 'PATCH', path: `/v1/webhooks/${id}`, body })}
      run={async (_note, idempotencyKey) => await api.webhooks.update(id, body, { idempotencyKey })}
    >
      <p>
        {isPaused
          ? 'The events that wait are delivered now, in order. “Pause” undoes it.'
          : 'Events wait, and none is lost as long as the log keeps it. “Resume” undoes it.'}
      </p>
    </Action>
  );
}

const OVERLAP_SECONDS = 3_600;

export function RotateSecret({ webhook, onSecret }: SecretProps & { webhook: WebhookView }): ReactNode {
  const { api } = useCaller();
  const body = { overlapSeconds: OVERLAP_SECONDS };
  return (
    <Action
      label="Rotate secret…"
      title={`Replace the secret of ${nameOf(webhook)}?`}
      verb="Replace the secret"
      hasNote={false}
      request={() => ({ method: 'POST', path: `/v1/webhooks/${webhook.id}/rotate`, body })}
      run={async (_note, idempotencyKey) => {
        const { secret } = await api.webhooks.rotateSecret(webhook.id, body, { idempotencyKey });
        onSecret({ title: `The new secret of ${nameOf(webhook)}.`, secret });
      }}
    >
      <p>For one hour, deliveries have the signatures of both secrets, so that the receiver can change it.</p>
    </Action>
  );
}

export function DeleteWebhook({ webhook }: { webhook: WebhookView }): ReactNode {
  const { api } = useCaller();
  return (
    <Action
      label="Delete…"
      tone="danger"
      title={`Delete ${nameOf(webhook)}?`}
      verb="Delete the webhook"
      hasNote={false}
      request={() => ({ method: 'DELETE', path: `/v1/webhooks/${webhook.id}` })}
      run={async (_note, idempotencyKey) => await api.webhooks.delete(webhook.id, { idempotencyKey })}
    >
      <p>It receives no more events, and its deliveries are forgotten. This cannot be undone.</p>
    </Action>
  );
}
