import type { ApiParamOptions } from '@nestjs/swagger';

export const AGENT_NAME: ApiParamOptions = { name: 'name', description: 'The name of the agent.', example: 'greeter' };

export const SPAWN_EXAMPLES = {
  content: {
    summary: 'An agent without a definition',
    value: {
      name: 'greeter',
      content: { description: 'Greets visitors.', instructions: 'Greet the visitor in one sentence.' },
    },
  },
  definition: { summary: 'An agent of a definition', value: { definition: 'reviewer' } },
};
