import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { DeliveryPage } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, plain, spanText } from '../../parts/format.js';
import { Ago, Tag, type Tone } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';

type Delivery = DeliveryPage['items'][number];

const SHOWN = 20;
const EVERY_MS = 2_000;
const TONES: Record<Delivery['state'], Tone> = { delivered: 'good', retrying: 'warn', parked: 'bad', pending: 'off' };
const STATES = [undefined, 'delivered', 'retrying', 'parked', 'pending'] as const;

/** The last deliveries of a webhook. Any of them can be sent again. */
export function Deliveries({ webhookId }: { webhookId: string }): ReactNode {
  const { api } = useCaller();
  const [state, setState] = useState<Delivery['state']>();
  const query = useQuery({
    queryKey: ['webhooks', 'deliveries', webhookId, state],
    queryFn: async ({ signal }) =>
      (await api.webhooks.listDeliveries(webhookId, { limit: SHOWN, ...(state && { state }) }, { signal }).page())
        .items,
    refetchInterval: EVERY_MS,
  });
  return (
    <div className="deliveries">
      <div className="chips">
        {STATES.map((one) => (
          <button
            key={one ?? 'all'}
            className="chip"
            type="button"
            aria-pressed={one === state}
            onClick={() => setState(one)}
          >
            {one ?? 'all'}
          </button>
        ))}
      </div>
      <Loaded query={query}>
        {(deliveries) =>
          deliveries.length === 0 ? (
            <Empty>No delivery{state === undefined ? ' yet' : ` is ${state}`}.</Empty>
          ) : (
            <div className="scroll" tabIndex={0} role="region" aria-label="Deliveries">
              <table>
                <thead>
                  <tr>
                    <th scope="col" className="number">
                      Sequence
                    </th>
                    <th scope="col">Event</th>
                    <th scope="col">State</th>
                    <th scope="col" className="number secondary">
                      Attempts
                    </th>
                    <th scope="col" className="secondary">
                      Answer
                    </th>
                    <th scope="col" className="number secondary">
                      Age
                    </th>
                    <th scope="col">
                      <span className="visually-hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {deliveries.map((delivery) => (
                    <tr key={delivery.sequence}>
                      <td className="number">{count(Number(delivery.sequence))}</td>
                      <td>
                        {delivery.type}
                        <small className="secondary">{plain(delivery.subject)}</small>
                      </td>
                      <td>
                        <Tag tone={TONES[delivery.state]}>{delivery.state}</Tag>
                      </td>
                      <td className="number secondary">{count(delivery.attempts)}</td>
                      <td className="secondary muted">
                        {delivery.status ?? '–'}
                        {delivery.error !== null && `, ${plain(delivery.error)}`}, {spanText(delivery.tookMs)}
                      </td>
                      <td className="number secondary">
                        <Ago at={delivery.lastAt} />
                      </td>
                      <td>
                        <span className="buttons row-actions">
                          <SendAgain webhookId={webhookId} delivery={delivery} />
                        </span>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </div>
  );
}

function SendAgain({ webhookId, delivery }: { webhookId: string; delivery: Delivery }): ReactNode {
  const { api } = useCaller();
  const { sequence } = delivery;
  return (
    <Action
      label="Send again…"
      title={`Send the event ${sequence} again?`}
      verb="Send again"
      hasNote={false}
      request={() => ({ method: 'POST', path: `/v1/webhooks/${webhookId}/deliveries/${sequence}/replay` })}
      run={async (_note, idempotencyKey) => await api.webhooks.replayDelivery(webhookId, sequence, { idempotencyKey })}
    >
      <p>The endpoint receives this event once more, with the same webhook-id, so it can recognize it.</p>
    </Action>
  );
}
