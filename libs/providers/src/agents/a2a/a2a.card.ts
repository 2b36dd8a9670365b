import type { AgentCard } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { z } from 'zod';
import type { EgressPolicy } from '../../egress/egress.policy.js';
import { ProviderError } from '../../errors.js';

/** Accepts version 0.3 too, which many agents still use. The SDK converts it. */
export const LEGACY = { legacyCompat: { enabled: true } };
/** gRPC is not supported, because its connections would bypass the egress client. */
const BINDINGS = ['JSONRPC', 'HTTP+JSON'];
const VERSIONS = /^(1\.\d+(\.\d+)?|0\.3(\.\d+)?)$/;
const CARD_FILE = /\.json$/;

const InterfacesSchema = z
  .array(z.object({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string().default('1.0') }))
  .min(1);

/** Fetches the card from the well-known path of `url`, or from `url` itself if it is a JSON file. */
export async function fetchCard(url: string, fetchImpl: typeof fetch): Promise<AgentCard> {
  const path = CARD_FILE.test(new URL(url).pathname) ? '' : undefined;
  return await new DefaultAgentCardResolver({ fetchImpl, ...LEGACY }).resolve(url, path);
}

/** Returns the card with only the interfaces that are supported and may be called. Throws if there are none. */
export function usableCard(card: AgentCard, policy: EgressPolicy, label: string): AgentCard {
  const listed = InterfacesSchema.safeParse(card.supportedInterfaces);
  if (!listed.success) throw unusable(label, 'it lists no interface');
  const supported = card.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      BINDINGS.includes(protocolBinding.toUpperCase()) && VERSIONS.test(protocolVersion || '1.0'),
  );
  if (supported.length === 0) {
    const offered = listed.data.map((one) => `${one.protocolBinding} ${one.protocolVersion}`).join(', ');
    throw unusable(label, `it offers ${offered}; Rollcall supports ${BINDINGS.join(' and ')}, versions 1.x and 0.3`);
  }
  for (const { url } of supported) policy.checkUrl(url);
  return { ...card, supportedInterfaces: supported };
}

function unusable(label: string, why: string): ProviderError {
  return new ProviderError('AGENT_ANSWER_UNREADABLE', `The A2A card of ${label} cannot be used: ${why}.`);
}
