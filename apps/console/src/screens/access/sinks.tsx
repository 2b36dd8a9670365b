import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { SinkList, WebhookView } from '#rollcall/client';
import { count, plain, spanText } from '../../parts/format.js';
import { Ago, Tag, type Tone } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { Deliveries } from './deliveries.js';
import { Secret } from './secret.js';
import { CreateWebhook, DeleteWebhook, PauseWebhook, Replay, RotateSecret } from './webhook-actions.js';

type Sink = SinkList['items'][number];

/** The progress of a delivery has no event. */
const PROGRESS_EVERY_MS = 2_000;
const AT_ONCE = 200;

const TONES: Record<Sink['state'], Tone> = { delivering: 'good', retrying: 'warn', paused: 'off', stopped: 'bad' };

export interface NewSecret {
  readonly title: string;
  readonly secret: string;
}

/** Where events go: webhooks and NATS, how far each is behind, and what failed. */
export function Sinks(): ReactNode {
  const { api, may } = useCaller();
  const [secret, setSecret] = useState<NewSecret>();
  const mayManage = may('webhooks:manage');
  const sinks = useQuery({
    queryKey: ['sinks'],
    queryFn: async ({ signal }) => (await api.sinks.list({ signal })).items,
    refetchInterval: PROGRESS_EVERY_MS,
  });
  const webhooks = useQuery({
    queryKey: ['webhooks'],
    enabled: mayManage,
    queryFn: async ({ signal }) => (await api.webhooks.list({ limit: AT_ONCE }, { signal }).page()).items,
  });
  return (
    <section className="card">
      <header>
        <h2>Webhooks and sinks</h2>
        <small>where events go, and how far each is behind</small>
        <span className="space" />
        {mayManage && <CreateWebhook onSecret={setSecret} />}
      </header>
      {secret && <Secret {...secret} onDone={() => setSecret(undefined)} />}
      <Loaded query={sinks}>
        {(all) =>
          all.length === 0 ? (
            <Empty>
              No sink receives events. <code>POST /v1/webhooks</code> creates a webhook; <code>ROLLCALL_NATS_URL</code>{' '}
              sends all events to NATS.
            </Empty>
          ) : (
            <ul className="plain-list">
              {all.map((sink) => (
                <li className="sink" key={sink.id}>
                  <SinkRow sink={sink} webhook={webhooks.data?.find(({ id }) => id === sink.id)} onSecret={setSecret} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

interface SinkRowProps {
  sink: Sink;
  webhook: WebhookView | undefined;
  onSecret: (secret: NewSecret) => void;
}

function SinkRow({ sink, webhook, onSecret }: SinkRowProps): ReactNode {
  const { may } = useCaller();
  const [isOpen, setOpen] = useState(false);
  const mayManage = may('webhooks:manage');
  const { id, kind, state, lastError, parked } = sink;
  return (
    <>
      <div className="sink-row">
        <Tag tone={TONES[state]}>{state}</Tag>
        <div>
          <b>{kind === 'nats' ? 'NATS' : plain(webhook?.description ?? webhook?.url ?? `webhook ${id}`)}</b>
          {webhook && webhook.description !== null && <span className="muted mono"> {plain(webhook.url)}</span>}
          <p className="muted">
            {webhook?.types ? `only ${plain(webhook.types.join(', '))}` : 'all events'}
            {sink.namespace === '*' && ' of all namespaces'} · <Progress sink={sink} />
          </p>
          {lastError !== null && <p className="bad-text">{plain(lastError)}</p>}
        </div>
        {mayManage && (
          <div className="buttons">
            {webhook && (
              <button
                className="button"
                type="button"
                aria-expanded={isOpen}
                aria-label={`Deliveries of ${plain(webhook.description ?? webhook.url)}`}
                onClick={() => setOpen(!isOpen)}
              >
                Deliveries{parked > 0 && `, ${count(parked)} parked`}
              </button>
            )}
            <Replay sink={sink} />
            {webhook && <PauseWebhook webhook={webhook} />}
            {webhook && <RotateSecret webhook={webhook} onSecret={onSecret} />}
            {webhook && <DeleteWebhook webhook={webhook} />}
          </div>
        )}
      </div>
      {isOpen && webhook && <Deliveries webhookId={webhook.id} />}
    </>
  );
}

function Progress({ sink }: { sink: Sink }): ReactNode {
  const { lagEvents, lagMs, parked, deliveredAt, attempts, nextTryAt, cursor } = sink;
  const lag =
    lagEvents === 0
      ? 'up to date'
      : `${count(lagEvents)} ${lagEvents === 1 ? 'event' : 'events'} behind${lagMs === null ? '' : `, the oldest waits ${spanText(lagMs)}`}`;
  return (
    <>
      {lag}, at sequence {count(Number(cursor))}
      {parked > 0 && <b className="bad-text">, {count(parked)} parked</b>}
      {attempts > 0 && `, ${count(attempts)} failed attempts`}
      {nextTryAt !== null && ', tries again'}
      {deliveredAt !== null && (
        <>
          , last delivery <Ago at={deliveredAt} /> ago
        </>
      )}
    </>
  );
}
