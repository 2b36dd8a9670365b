import type { AgentCard } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { z } from 'zod';
import type { EgressPolicy } from '../../egress/egress.policy.js';
import { ProviderError } from '../../errors.js';

/** Also 0.3, which many agents still speak: the SDK translates it. */
export const LEGACY = { legacyCompat: { enabled: true } };
/** gRPC is missing on purpose: it would go out past the guarded client. */
const BINDINGS = ['JSONRPC', 'HTTP+JSON'];
const VERSIONS = /^(1\.\d+(\.\d+)?|0\.3(\.\d+)?)$/;
const CARD_FILE = /\.json$/;

const InterfacesSchema = z
  .array(z.object({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string().default('1.0') }))
  .min(1);

/** The card at its well-known place under `url`, or at `url` itself. */
export async function fetchCard(url: string, fetchImpl: typeof fetch): Promise<AgentCard> {
  const path = CARD_FILE.test(new URL(url).pathname) ? '' : undefined;
  return await new DefaultAgentCardResolver({ fetchImpl, ...LEGACY }).resolve(url, path);
}

/** The same card with only those of its interfaces that we speak and may call, or an error that says what is wrong. */
export function usableCard(card: AgentCard, policy: EgressPolicy, label: string): AgentCard {
  const listed = InterfacesSchema.safeParse(card.supportedInterfaces);
  if (!listed.success) throw unusable(label, 'it names no interface to call');
  const spoken = card.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      BINDINGS.includes(protocolBinding.toUpperCase()) && VERSIONS.test(protocolVersion || '1.0'),
  );
  if (spoken.length === 0) {
    const offered = listed.data.map((one) => `${one.protocolBinding} ${one.protocolVersion}`).join(', ');
    throw unusable(label, `it offers ${offered}; spoken here: ${BINDINGS.join(' and ')}, versions 1.x and 0.3`);
  }
  for (const { url } of spoken) policy.checkUrl(url);
  return { ...card, supportedInterfaces: spoken };
}

function unusable(label: string, why: string): ProviderError {
  return new ProviderError('AGENT_ANSWER_UNREADABLE', `The A2A card of ${label} cannot be used: ${why}.`);
}
