/** Keys with the same name and the same effect as a field of the definition. */
export const DEFINITION_KEYS = [
  'provider',
  'settings',
  'capabilities',
  'maxIterations',
  'maxDelegationDepth',
  'maxConcurrency',
  'whenBusy',
  'budget',
  'inheritTools',
  'subagents',
  'mayAsk',
  'outputSchema',
  'metadata',
] as const;

/** Keys that hold the system prompt in JSON. In Markdown, the system prompt is the text after the front matter. */
export const PROMPT_KEYS = ['prompt', 'systemPrompt', 'instructions'] as const;

/** Keys of Claude Code that restrict or extend an agent there and have no effect here. */
export const KEYS_WITHOUT_EFFECT = ['permissionMode', 'mcpServers', 'hooks', 'memory', 'isolation'] as const;

/** Keys that are kept as metadata. */
export const METADATA_KEYS = [
  ...KEYS_WITHOUT_EFFECT,
  'background',
  'omitClaudeMd',
  'effort',
  'color',
  'initialPrompt',
  'experimental',
  'autoCompactWindow',
  'observer',
  'observerMessage',
  'criticalSystemReminder_EXPERIMENTAL',
  'version',
  'author',
  'category',
  'tags',
  'license',
] as const;

export const KNOWN_KEYS: readonly string[] = [
  'name',
  'agent_type',
  'description',
  'tools',
  'disallowedTools',
  'model',
  'skills',
  'maxTurns',
  ...DEFINITION_KEYS,
  ...PROMPT_KEYS,
  ...METADATA_KEYS,
];
