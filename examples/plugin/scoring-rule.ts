import type { ScoringRule } from 'rollcall/plugin';

/** The agent that is done first wins the auction. */
export const soonest: ScoringRule = {
  name: 'soonest',
  score: (contenders) =>
    contenders.map(({ agentId, offer }) => {
      const eta = 1 / (1 + offer.etaMs);
      return { agentId, score: eta, parts: { price: 0, eta, confidence: 0, reliability: 0 } };
    }),
};
