import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { A2aHandlers } from './a2a.handler.js';
import { A2aAgents } from './cards/a2a.agents.js';
import { CardSigner } from './cards/card.signer.js';
import { CardsController } from './cards/cards.controller.js';
import { EventLog, SinksService, WebhookSecrets } from '#rollcall/platform';
import { EgressPolicy } from '#rollcall/providers';
import { IncomingCalls } from './incoming.calls.js';
import { MessagesService } from './messages/messages.service.js';
import { RootSkills } from './messages/root.skills.js';
import { quotaSetting } from '../config/access.settings.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ContractsModule } from '../contracts/contracts.module.js';
import { PushConfigs, TaskPush } from './push/push.configs.js';
import { PushSinks } from './push/push.sinks.js';
import { PushStore } from './push/push.store.js';
import { CallTokens } from './signing/call.tokens.js';
import { InstallationKeys } from './signing/installation.keys.js';
import { A2aTasks } from './tasks/a2a.tasks.js';
import { TaskStream } from './tasks/task.stream.js';
import { A2aStreams } from './wire/a2a.streams.js';
import { MessagesController } from './wire/messages.controller.js';
import { PushController } from './wire/push.controller.js';
import { RpcController } from './wire/rpc.controller.js';
import { TasksController } from './wire/tasks.controller.js';

/** A2A 1.0. Clients send messages to Rollcall itself or to one of its agents. A task is a run. */
@Module({
  imports: [AgentsModule, ContractsModule, WebhooksModule],
  controllers: [CardsController, RpcController, MessagesController, TasksController, PushController],
  providers: [
    A2aAgents,
    A2aHandlers,
    A2aStreams,
    A2aTasks,
    CallTokens,
    CardSigner,
    IncomingCalls,
    InstallationKeys,
    MessagesService,
    {
      provide: PushConfigs,
      inject: [PushStore, SinksService, EventLog, WebhookSecrets, EgressPolicy, CONFIG],
      useFactory: (
        store: PushStore,
        sinks: SinksService,
        log: EventLog,
        secrets: WebhookSecrets,
        egress: EgressPolicy,
        { quotas }: Config,
      ) => {
        const quota = { limit: quotas.pushConfigs, setting: quotaSetting('pushConfigs') };
        return new PushConfigs(store, sinks, log, secrets, egress, quota);
      },
    },
    PushSinks,
    PushStore,
    RootSkills,
    TaskPush,
    TaskStream,
  ],
  exports: [A2aAgents, CardSigner, PushSinks],
})
export class A2aModule {}
