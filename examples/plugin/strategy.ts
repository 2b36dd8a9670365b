import type { ScoredStrategy } from 'rollcall/plugin';

export const mostCapable: ScoredStrategy = {
  name: 'most-capable',
  scoreMeaning: 'number of capabilities; higher is better',
  best: 'highest',
  score: ({ record }) => record.capabilities.length,
};
