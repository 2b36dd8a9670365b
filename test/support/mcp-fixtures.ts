import {
  type CallToolResult,
  completable,
  createRequestStateCodec,
  inputRequired,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { LazyModuleLoader } from '@nestjs/core';
import { z } from 'zod';
import { McpServerModule } from '../../apps/api/src/mcp/mcp-server.module.js';
import { type McpFeature, McpServers } from '../../apps/api/src/mcp/mcp.servers.js';
import type { TestApi } from './api.js';
import { capabilitiesIn } from '../../apps/api/src/mcp/mcp.call.js';

/** A picture with one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const WAV = Buffer.from(
  'RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0',
  'latin1',
);
const KEY = 'the key of the fixtures, which all replicas share';

const codec = createRequestStateCodec<{ round: number; name?: string }>({ key: KEY });

type Answers = Record<string, { action?: string; content?: Record<string, unknown> } & Record<string, unknown>>;
type InputRequests = NonNullable<Parameters<typeof inputRequired>[0]['inputRequests']>;

/**
 * Adds the tools, prompts and resources that the public conformance suite expects to the endpoint of Rollcall. Only tests use them.
 */
export async function installFixtures({ app }: TestApi): Promise<void> {
  const module = await app.nest.get(LazyModuleLoader).load(() => McpServerModule);
  const servers = module.get(McpServers);
  servers.verifyState = codec.verify;
  for (const feature of [simpleTools, progressTools, inputTools, stateTools, prompts, resources]) servers.add(feature);
}

const FIELDS = { string: { type: 'string' }, boolean: { type: 'boolean' } } as const;
const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });
const answersOf = ({ mcpReq }: ServerContext): Answers => (mcpReq.inputResponses ?? {}) as Answers;
const ask = (message: string, name: string, type: 'string' | 'boolean' = 'string'): InputRequests[string] =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [name]: FIELDS[type] }, required: [name] },
  });
const sample = (question: string, maxTokens: number): InputRequests[string] =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: question } }], maxTokens });

const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;

function tool(mcp: McpServer, name: string, run: (context: ServerContext) => unknown): void {
  const config = { description: `The fixture ${name}.`, inputSchema: z.object({}) };
  mcp.registerTool(name, config, async (_input, context) => (await run(context)) as CallToolResult);
}

const simpleTools: McpFeature = (mcp) => {
  tool(mcp, 'test_simple_text', () => text('This is a simple text response for testing.'));
  tool(mcp, 'test_image_content', () => ({ content: [image] }));
  tool(mcp, 'test_audio_content', () => ({
    content: [{ type: 'audio', data: WAV.toString('base64'), mimeType: 'audio/wav' }],
  }));
  tool(mcp, 'test_embedded_resource', () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }));
  tool(mcp, 'test_multiple_content_types', () => ({
    content: [
      ...text('Multiple content types test:').content,
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }));
  tool(mcp, 'test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  tool(mcp, 'test_logging_tool', () => text('nothing was logged'));
};

function embedded(uri: string, mimeType: string, value: string) {
  return { type: 'resource', resource: { uri, mimeType, text: value } } as const;
}

const progressTools: McpFeature = (mcp) => {
  tool(mcp, 'test_tool_with_progress', async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken === undefined) break;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
    }
    return text('done');
  });
};

/** Tools that ask the client for input, without state. */
const inputTools: McpFeature = (mcp) => {
  const asks = (
    name: string,
    key: string,
    request: InputRequests[string],
    done: (answer: Answers[string]) => unknown,
  ): void =>
    tool(mcp, name, (context) => {
      const answer = answersOf(context)[key];
      return answer ? done(answer) : inputRequired({ inputRequests: { [key]: request } });
    });
  const name = ask('What is your name?', 'name');
  const hello = ({ content }: Answers[string]): unknown =>
    typeof content?.['name'] === 'string'
      ? text(`Hello, ${content['name']}!`)
      : inputRequired({ inputRequests: { user_name: name } });
  asks('test_input_required_result_elicitation', 'user_name', name, hello);
  asks('test_streaming_elicitation', 'user_name', name, hello);
  const capital = sample('What is the capital of France?', 100);
  asks('test_input_required_result_sampling', 'capital_question', capital, (answer) => text(JSON.stringify(answer)));
  asks('test_missing_capability', 'capital_question', capital, () => text('answered'));
  asks('test_input_required_result_list_roots', 'client_roots', inputRequired.listRoots(), (answer) =>
    text(JSON.stringify(answer)),
  );
  tool(mcp, 'test_input_required_result_capabilities', (context) => {
    const declared = capabilitiesIn(context);
    const inputRequests: InputRequests = {
      ...('elicitation' in declared && { user_name: name }),
      ...('sampling' in declared && { capital_question: capital }),
    };
    return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : text('nothing to ask');
  });
};

/** Tools whose state the client sends back. */
const stateTools: McpFeature = (mcp) => {
  const confirm = ask('Please confirm', 'ok', 'boolean');
  for (const name of ['test_input_required_result_request_state', 'test_input_required_result_tampered_state'])
    tool(mcp, name, async (context) => {
      const state = context.mcpReq.requestState<{ round: number }>();
      if (answersOf(context)['confirm'] && state) return text('state-ok');
      return inputRequired({ inputRequests: { confirm }, requestState: await codec.mint({ round: 1 }) });
    });
  tool(mcp, 'test_input_required_result_multiple_inputs', async (context) => {
    const keys = Object.keys(answersOf(context));
    const inputRequests = {
      user_name: ask('What is your name?', 'name'),
      greeting: sample('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    };
    if (Object.keys(inputRequests).every((key) => keys.includes(key))) return text('all inputs received');
    return inputRequired({ inputRequests, requestState: await codec.mint({ round: 1 }) });
  });
  tool(mcp, 'test_input_required_result_multi_round', async (context) => {
    const { step1, step2 } = answersOf(context);
    const state = context.mcpReq.requestState<{ round: number; name?: string }>();
    if (state?.round === 2 && step2) return text(`${String(state.name)} likes ${String(step2.content?.['color'])}`);
    if (state?.round === 1 && step1) {
      const requestState = await codec.mint({ round: 2, name: String(step1.content?.['name']) });
      return inputRequired({
        inputRequests: { step2: ask('Step 2: What is your favorite color?', 'color') },
        requestState,
      });
    }
    const inputRequests = { step1: ask('Step 1: What is your name?', 'name') };
    return inputRequired({ inputRequests, requestState: await codec.mint({ round: 1 }) });
  });
};

const prompts: McpFeature = (mcp) => {
  mcp.server.registerCapabilities({ prompts: { listChanged: false } });
  const user = <Content>(content: Content) => ({ role: 'user', content }) as const;
  mcp.registerPrompt('test_simple_prompt', { description: 'A prompt.' }, () => ({
    messages: [user({ type: 'text', text: 'This is a simple prompt for testing.' } as const)],
  }));
  const argument = (): z.ZodType<string> => completable(z.string(), (value) => [`${value}is`]);
  mcp.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with arguments.', argsSchema: z.object({ arg1: argument(), arg2: argument() }) },
    ({ arg1, arg2 }) => ({
      messages: [user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` } as const)],
    }),
  );
  mcp.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt with a resource.', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        user(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
        user({ type: 'text', text: 'Please process the embedded resource above.' } as const),
      ],
    }),
  );
  mcp.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image.' }, () => ({
    messages: [user(image), user({ type: 'text', text: 'Please analyze the image above.' } as const)],
  }));
  mcp.registerPrompt('test_input_required_result_prompt', { description: 'A prompt that asks.' }, (context) => {
    const answer = answersOf(context)['user_context'];
    if (answer) return { messages: [user({ type: 'text', text: String(answer.content?.['context']) } as const)] };
    return inputRequired({ inputRequests: { user_context: ask('What context should the prompt use?', 'context') } });
  });
};

const resources: McpFeature = (mcp) => {
  const plain = { mimeType: 'text/plain' };
  mcp.registerResource('static-text', 'test://static-text', plain, ({ href }) => ({
    contents: [{ uri: href, ...plain, text: 'This is the content of the static text resource.' }],
  }));
  mcp.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'image/png', blob: PNG }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  mcp.registerResource('template', template, { mimeType: 'application/json' }, ({ href }, { id }) => ({
    contents: [
      {
        uri: href,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      },
    ],
  }));
};
