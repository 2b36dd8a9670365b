import { defineTool, type ToolBox, toolBox } from 'rollcall/plugin';

const flip = defineTool({
  name: 'flip_coin',
  description: 'Flips a coin.',
  execute: () => (Math.random() < 0.5 ? 'heads' : 'tails'),
});

/** A toolbox that no agent of the namespace `production` can use. */
export const games: ToolBox = {
  ...toolBox('games', [flip]),
  isFor: (namespace) => namespace !== 'production',
};
