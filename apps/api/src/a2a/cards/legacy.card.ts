import type { AgentCard } from '@a2a-js/sdk';
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { type A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';

/** The card in the form of version 0.3. The SDK exports its conversion only as a part of the transport of that version. */
export async function toLegacyCard(card: AgentCard): Promise<object> {
  const source: Pick<A2ARequestHandler, 'getAuthenticatedExtendedAgentCard'> = {
    getAuthenticatedExtendedAgentCard: async () => await Promise.resolve(card),
  };
  const transport = new LegacyRestTransportHandler(source as A2ARequestHandler);
  return await transport.getAuthenticatedExtendedAgentCard(new ServerCallContext());
}
