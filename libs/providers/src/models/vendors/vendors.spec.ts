import { Secret } from '../../secrets/secret.js';
import { localEgress } from '../../testing/local-egress.js';
import { describeModelProviderContract, type ModelContractSubject } from '../../testing/model-provider.contract.js';
import { anthropicWire } from '../../testing/wires/anthropic.wire.js';
import { bedrockWire } from '../../testing/wires/bedrock.wire.js';
import { googleWire } from '../../testing/wires/google.wire.js';
import { openAiChatWire } from '../../testing/wires/openai-chat.wire.js';
import { openAiResponsesWire } from '../../testing/wires/openai-responses.wire.js';
import type { Wire } from '../../testing/wires/scenario.js';
import { VendorServer } from '../../testing/wires/vendor.server.js';
import type { ModelVendor } from '../model.vendor.js';
import { AnthropicVendor } from './anthropic.vendor.js';
import { AzureVendor } from './azure.vendor.js';
import { BedrockVendor } from './bedrock.vendor.js';
import { GoogleVendor } from './google.vendor.js';
import { COMPATIBLE_SERVERS, OpenAiCompatibleVendor } from './openai-compatible.vendor.js';
import { OpenAiVendor } from './openai.vendor.js';

const KEY = 'sk-test-0123456789abcdef';

const VENDORS: [ModelVendor, Wire][] = [
  [new AnthropicVendor(), anthropicWire],
  [new OpenAiVendor(), openAiResponsesWire],
  [new OpenAiCompatibleVendor(), openAiChatWire],
  ...COMPATIBLE_SERVERS.map((server): [ModelVendor, Wire] => [new OpenAiCompatibleVendor(server), openAiChatWire]),
  [new AzureVendor(), openAiResponsesWire],
  [new GoogleVendor(), googleWire],
  [new BedrockVendor(), bedrockWire],
];

for (const [vendor, wire] of VENDORS) {
  describeModelProviderContract(vendor.name, async () => await subjectFor(vendor, wire));
}

async function subjectFor(vendor: ModelVendor, wire: Wire): Promise<ModelContractSubject> {
  const server = await VendorServer.start(wire);
  const egress = localEgress();
  const provider = vendor.open({
    model: 'some-model',
    baseUrl: server.baseUrl,
    key: new Secret(KEY),
    fetch: egress.fetch,
  });
  return {
    provider,
    key: KEY,
    play: (scenario) => server.play(scenario),
    calls: () => server.requests.length,
    busyConnections: () => server.busyConnections,
    close: async () => {
      expect(egress.inFlight).toBe(0);
      await egress.close();
      await server.close();
    },
  };
}
