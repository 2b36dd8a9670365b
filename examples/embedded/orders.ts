import { definePlugin, defineTool } from 'rollcall/plugin';

/** What the shop adds to Rollcall: a tool, and an agent that uses it. */
export const orders = definePlugin({
  name: 'orders',
  tools: [defineTool({ name: 'count_orders', description: 'Counts the orders.', execute: () => 3 })],
  definitions: [{ name: 'clerk', description: 'Knows the orders.', tools: ['count_orders'] }],
});
