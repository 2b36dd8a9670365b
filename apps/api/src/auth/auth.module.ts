import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Database } from '#rollcall/platform';
import { LeaseTokenStore } from '#rollcall/registry';
import { CONFIG } from '../config/config.token.js';
import type { Config } from '../config/config.schema.js';
import { ConcurrencyLimiter } from '../http/server/concurrency.limiter.js';
import { TrustedProxies } from '../http/server/trusted-proxies.js';
import { KeysModule } from '../keys/keys.module.js';
import { AuthGuard } from './auth.guard.js';
import { Authenticator } from './authenticator.js';
import { CredentialWatch } from './credential.watch.js';
import { LeaseTokenVerifier } from './lease-token.verifier.js';
import { MeController } from './me.controller.js';
import { NamespaceRateLimiter } from './namespace-rate.limiter.js';
import { NamespaceResolver } from './namespace.resolver.js';
import { OidcVerifier } from './oidc.verifier.js';
import { RateLimiter } from './rate.limiter.js';
import { RouteAdmission } from './route.admission.js';
import { SocketAccess } from './socket.access.js';
import { SocketLimits } from './socket.limits.js';
import { UnauthenticatedLimiter } from './unauthenticated.limiter.js';

@Module({
  imports: [KeysModule],
  controllers: [MeController],
  providers: [
    Authenticator,
    NamespaceResolver,
    NamespaceRateLimiter,
    { provide: OidcVerifier, inject: [CONFIG], useFactory: ({ auth }: Config) => new OidcVerifier(auth) },
    { provide: RateLimiter, inject: [CONFIG], useFactory: ({ http }: Config) => new RateLimiter(http.rateLimit) },
    {
      provide: LeaseTokenVerifier,
      inject: [Database, LeaseTokenStore],
      useFactory: (db: Database, tokens: LeaseTokenStore) => new LeaseTokenVerifier(db, tokens),
    },
    { provide: ConcurrencyLimiter, inject: [CONFIG], useFactory: limiterOf },
    {
      provide: UnauthenticatedLimiter,
      inject: [CONFIG],
      useFactory: ({ http }: Config) => new UnauthenticatedLimiter(http.concurrentUnauthenticated),
    },
    {
      provide: TrustedProxies,
      inject: [CONFIG],
      useFactory: ({ http }: Config) => new TrustedProxies(http.trustedProxies),
    },
    RouteAdmission,
    AuthGuard,
    { provide: APP_GUARD, useExisting: AuthGuard },
    CredentialWatch,
    SocketLimits,
    SocketAccess,
  ],
  exports: [RouteAdmission, AuthGuard, Authenticator, CredentialWatch, SocketAccess],
})
export class AuthModule {}

function limiterOf({ http }: Config): ConcurrencyLimiter {
  const { concurrentRequests: requests, concurrentStreams: streams, concurrentWaits: waits } = http;
  return new ConcurrencyLimiter({ requests, streams, waits });
}
