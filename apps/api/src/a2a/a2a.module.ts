import { Module } from '@nestjs/common';
import { A2aAgents } from './a2a.agents.js';
import { A2aCalls } from './a2a.calls.js';
import { A2aServices } from './a2a.services.js';
import { CardSigner } from './card.signer.js';
import { CardsController } from './cards.controller.js';
import { MessagesController } from './messages.controller.js';
import { PublicUrl } from './public.url.js';
import { RpcController } from './rpc.controller.js';
import { SseStreams } from './sse.streams.js';
import { TaskCanceller } from './task.canceller.js';
import { TaskReader } from './task.reader.js';
import { TaskSender } from './task.sender.js';
import { TaskStream } from './task.stream.js';
import { TasksController } from './tasks.controller.js';

/** A2A 1.0: the agents of the registry and Rollcall itself, over runs. */
@Module({
  controllers: [CardsController, RpcController, MessagesController, TasksController],
  providers: [
    A2aAgents,
    A2aCalls,
    A2aServices,
    CardSigner,
    PublicUrl,
    SseStreams,
    TaskCanceller,
    TaskReader,
    TaskSender,
    TaskStream,
  ],
})
export class A2aModule {}
