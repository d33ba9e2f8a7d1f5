package app

// measure adds the gauges that are read from the parts themselves.
func (a *App) measure(p *parts) {
	a.metrics.GaugeFunc("sockets", "Live sockets that are open.", func() float64 { return float64(p.hub.Sockets()) })
	a.metrics.GaugeFunc("rooms", "Showings that sockets of this replica look at.", func() float64 { return float64(p.hub.Rooms()) })
	a.metrics.GaugeFunc("maps", "Seat maps that this replica keeps right.", func() float64 { return float64(len(p.live.Watched())) })
	a.metrics.GaugeFunc("postgres_connections", "Connections to PostgreSQL that are in use.", func() float64 {
		return float64(p.pool.Stat().AcquiredConns())
	})
	for name, up := range map[string]func() bool{
		"postgresql_up": p.health.postgres.Load,
		"redis_up":      p.health.redis.Load,
		"etcd_up":       func() bool { return p.coord != nil && p.coord.Connected() },
		"etcd_alarm":    func() bool { return p.coord != nil && p.coord.Alarmed() },
	} {
		a.metrics.GaugeFunc(name, "1 when so: a store answered lately, or etcd is out of space.", func() float64 {
			if up() {
				return 1
			}
			return 0
		})
	}
}
